// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"
)

func TestLastRuns(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if got, err := st.LastRuns(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for i, name := range []string{"a", "b", "a"} {
		if err := st.AddRun(RunRecord{Site: name, Ended: time.Unix(int64(i), 0), Verdict: "complete"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := st.LastRuns()
	if err != nil || len(got) != 2 || got["a"].Ended.Unix() != 2 || got["b"].Ended.Unix() != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
