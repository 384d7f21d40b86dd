// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/replica/unionfind"
	"mirrord/testing/replicatest"
)

func pairKey(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// mirrorTruth reads the pairs of mirrors2010 by kind: full, part, renamed.
func mirrorTruth(t testing.TB, dir string) map[[2]string]string {
	out := map[[2]string]string{}
	for _, line := range replicatest.ReadLines(t, filepath.Join(dir, "truth.tsv.gz")) {
		f := strings.Split(line, "\t")
		out[pairKey(f[0], f[1])] = f[2]
	}
	return out
}

// recallOf is the share of the true pairs of the kinds that are candidates, or that verified candidates
// connect.
func recallOf(
	truth map[[2]string]string, found []HostPair, kinds string,
) (direct, connected, precision float64) {
	number := map[string]uint32{}
	id := func(h string) uint32 {
		if _, ok := number[h]; !ok {
			number[h] = uint32(len(number))
		}
		return number[h]
	}
	for p := range truth {
		id(p[0])
		id(p[1])
	}
	for _, p := range found {
		id(p.Host1)
		id(p.Host2)
	}
	sets := unionfind.New(len(number))
	candidate := map[[2]string]bool{}
	good := 0
	for _, p := range found {
		k := pairKey(p.Host1, p.Host2)
		candidate[k] = true
		if truth[k] != "" {
			good++
		}
		if strings.Contains(kinds, truth[k]) && truth[k] != "" {
			sets.Union(id(p.Host1), id(p.Host2))
		}
	}
	n, d, c := 0, 0, 0
	for p, kind := range truth {
		if !strings.Contains(kinds, kind) {
			continue
		}
		n++
		if candidate[p] {
			d++
		}
		if sets.Find(id(p[0])) == sets.Find(id(p[1])) {
			c++
		}
	}
	return float64(d) / float64(n), float64(c) / float64(n), float64(good) / float64(max(1, len(found)))
}

func TestStageOneRecall(t *testing.T) {
	dir := replicatest.DataDir(t)
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, "replicas", "mirrors2010")
	truth := mirrorTruth(t, dir)
	for _, o := range []StageOne{{Paper: true}, {}} {
		v := readInventory(t, dir, o)
		found := v.Pairs()
		big := map[string]bool{}
		for _, h := range v.Samples() {
			big[h.Host] = true
		}
		truth := maps.Clone(truth)
		maps.DeleteFunc(truth, func(p [2]string, _ string) bool { return !big[p[0]] || !big[p[1]] })
		d, c, p := recallOf(truth, found, "full part")
		t.Logf("paper %v: %d pairs; same prefixes: direct %.3f connected %.3f; precision %.3f", o.Paper,
			len(found), d, c, p)
		d, c, _ = recallOf(truth, found, "full part renamed")
		t.Logf("renamed too: direct %.3f connected %.3f", d, c)
		if least := map[bool]float64{true: 0.07, false: 0.98}[o.Paper]; d < least {
			t.Errorf("paper %v: recall %.3f, want at least %.2f", o.Paper, d, least)
		}
	}
}

// hostTruth reads the levels of the pairs of a corpus, by comparing all their paths.
func hostTruth(t testing.TB, dir string) map[[2]string]string {
	out := map[[2]string]string{}
	for _, line := range replicatest.ReadLines(t, filepath.Join(dir, "truth-hosts.tsv"))[1:] {
		f := strings.Split(line, "\t")
		if f[2] != "mismatch" {
			out[pairKey(f[0], f[1])] = f[2]
		}
	}
	return out
}

func TestStageOneRecallOnCorpus(t *testing.T) {
	dir := replicatest.CorpusDir(t)
	if dir == "" {
		return
	}
	for _, o := range []StageOne{{Paper: true}, {}, {MinURLs: 30}} {
		v := readInventory(t, dir, o)
		found := v.Pairs()
		big := map[string]bool{}
		for _, h := range v.Samples() {
			big[h.Host] = true
		}
		truth := hostTruth(t, dir)
		all := len(truth)
		maps.DeleteFunc(truth, func(p [2]string, _ string) bool { return !big[p[0]] || !big[p[1]] })
		d, c, p := recallOf(truth, found, "L1 L2 L3 L4 L5")
		t.Logf("%+v: %d pairs, %d of %d true; direct %.3f connected %.3f; precision %.3f", o, len(found),
			len(truth), all, d, c, p)
		if d < 0.94 {
			t.Errorf("%+v: recall %.3f, want at least 0.94", o, d)
		}
		d, c, _ = recallOf(truth, found, "L1 L2 L3")
		t.Logf("levels 1 to 3: direct %.3f connected %.3f", d, c)
		if d < 1 {
			t.Errorf("%+v: recall of levels 1 to 3 %.3f, want 1", o, d)
		}
	}
}
