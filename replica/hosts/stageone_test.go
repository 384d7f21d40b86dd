// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mirrord/testing/replicatest"
)

// readInventory reads the URLs of a set.
func readInventory(t testing.TB, dir string, o StageOne) *Inventory {
	t.Helper()
	v := NewInventory(o)
	bad := 0
	for _, line := range replicatest.ReadLines(t, filepath.Join(dir, "urls.txt.gz")) {
		if err := v.AddURL([]byte(line)); err != nil {
			bad++
		}
	}
	if bad > 100 {
		t.Fatalf("%s: %d lines are no URLs", dir, bad)
	}
	return v
}

// The paper's rule gives what the independent implementation gave.
func TestPaperStageOne(t *testing.T) {
	dir := replicatest.CorpusDir(t)
	if dir == "" {
		return
	}
	checkOracle(t, dir, filepath.Join(dir, "oracle-stage1.tsv"))
	if os.Getenv("MIRRORD_REPLICA_SET") != "" {
		return
	}
	dir = filepath.Join(filepath.Dir(dir), "mirrors2010")
	checkOracle(t, dir, filepath.Join(dir, "oracle-stage1.tsv.gz"))
}

func checkOracle(t *testing.T, dir, file string) {
	t.Helper()
	got := readInventory(t, dir, StageOne{Paper: true}).Pairs()
	want := replicatest.ReadLines(t, file)
	if len(got) != len(want) {
		t.Errorf("%s: %d pairs, want %d", dir, len(got), len(want))
	}
	wrong := 0
	for i, line := range want[:min(len(want), len(got))] {
		f := strings.Split(line, "\t")
		score, err := strconv.ParseFloat(f[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		p := got[i]
		if p.Host1 != f[1] || p.Host2 != f[2] || math.Abs(p.Score-score) > 1e-6 || math.Abs(p.Raw-raw) > 1e-6 ||
			strconv.Itoa(p.Shared) != f[4] || strconv.Itoa(p.SharedPaths) != f[5] {
			if wrong++; wrong < 5 {
				t.Errorf("%s: place %d: %+v, want %s", dir, i+1, p, line)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d lines differ", dir, wrong, len(want))
	}
}
