// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"mirrord/replay"
)

// sharedData is where the recorded sites lie, beside the checkout.
const sharedData = "../../../../shared/data/"

// smallHistory is the one that package replay is tested with.
func smallHistory(t *testing.T) *replay.History {
	t.Helper()
	return readHistory(t, "../../../replay/testdata/small.history.tsv")
}

// sharedHistory reads a recorded site; nil when the records are not beside the checkout.
func sharedHistory(t *testing.T, site string) *replay.History {
	t.Helper()
	name := sharedData + "site-histories/" + site + ".history.tsv.gz"
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		t.Logf("no %s: nothing was checked against it", name)
		return nil
	}
	return readHistory(t, name)
}

func readHistory(t *testing.T, name string) *replay.History {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := replay.Read(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return h
}
