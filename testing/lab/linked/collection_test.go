// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/replica/unionfind"
	"mirrord/testing/lab/reference"
	"mirrord/testing/replicatest"
)

// readWeb makes the link graph of a corpus.
func readWeb(t testing.TB, c *replicatest.Corpus) Graph {
	w := Graph{Links: make([][]uint32, len(c.Pages))}
	for i := range c.Pages {
		w.Pages = append(w.Pages, at(c.Pages[i].Host, c.Pages[i].Path))
	}
	for _, line := range replicatest.ReadLines(t, filepath.Join(c.Dir, "links.tsv.gz")) {
		from, to, _ := strings.Cut(line, "\t")
		p, err := strconv.Atoi(from)
		if err != nil {
			t.Fatal(err)
		}
		q, err := strconv.Atoi(to)
		if err != nil {
			t.Fatal(err)
		}
		w.Links[p] = append(w.Links[p], uint32(q))
	}
	for i := range w.Links {
		slices.Sort(w.Links[i])
		w.Links[i] = slices.Compact(w.Links[i])
	}
	return w
}

// trivialClusters joins the pages of a corpus that have more than threshold chunks in common, or the same
// text (Cho, Shivakumar, Garcia-Molina, section 4.1), by comparing all pairs. The second clause is not in the
// paper; without it a short page would not be like its own copy.
func trivialClusters(c *replicatest.Corpus, how reference.Chunking, threshold int) *unionfind.Sets {
	type document struct {
		chunks hash.Set
		first  uint32 // page
	}
	var texts []document // that differ
	sets, known := unionfind.New(len(c.Pages)), map[string]uint32{}
	for i := range c.Pages {
		said := text.Extract(c.Blobs[c.Pages[i].Blob])
		chunks := reference.Chunks(reference.Lines(said), how)
		words := strings.Join(text.Tokens(said), " ")
		if p, ok := known[words]; ok {
			sets.Union(p, uint32(i))
		} else {
			known[words] = uint32(i)
		}
		if !slices.ContainsFunc(texts, func(u document) bool {
			return known[words] == sets.Find(u.first) && slices.Equal(u.chunks, chunks)
		}) {
			texts = append(texts, document{chunks, uint32(i)})
		}
	}
	for i, t := range texts {
		for _, u := range texts[:i] {
			if hash.Common(t.chunks, u.chunks) > threshold {
				sets.Union(t.first, u.first)
			}
		}
	}
	return sets
}

type goldenCluster struct {
	Root        uint32
	Rids        []uint32
	Collections []struct{ Own, Virtual []uint32 }
}

// clusterLines writes clusters one a line, in an order of their own.
func clusterLines(clusters []Cluster, leastPages int) []string {
	var out []string
	for _, c := range clusters {
		if len(c.Collections) < 2 || len(c.Rids) < leastPages {
			continue
		}
		slices.SortFunc(c.Collections, func(a, b Collection) int {
			return slices.Compare(append(slices.Clone(a.Own), a.Virtual...), append(slices.Clone(b.Own), b.Virtual...))
		})
		out = append(out, fmt.Sprint(c.Root, c.Rids, c.Collections))
	}
	slices.Sort(out)
	return out
}

func TestPaperClusters(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	w := readWeb(t, c)
	sets := trivialClusters(c, reference.Chunking{}, 15)
	least := 10
	if filepath.Base(c.Dir) == "mini" {
		least = 3
	}
	for kind, o := range map[string]Growing{"basic": {}, "extended": {Extended: true}} {
		var want []Cluster
		for _, line := range replicatest.ReadLines(t,
			filepath.Join(c.Dir, "oracle-clusters-fixed4-"+kind+".jsonl.gz")) {
			var g goldenCluster
			if err := json.Unmarshal([]byte(line), &g); err != nil {
				t.Fatal(err)
			}
			cl := Cluster{Root: g.Root, Rids: g.Rids}
			for _, col := range g.Collections {
				cl.Collections = append(cl.Collections, Collection{col.Own, col.Virtual})
			}
			want = append(want, cl)
		}
		gotLines, wantLines := clusterLines(Grow(w, sets, o), least), clusterLines(want, 0)
		for _, l := range gotLines {
			if !slices.Contains(wantLines, l) {
				t.Errorf("%s: more than wanted: %.300s", kind, l)
			}
		}
		for _, l := range wantLines {
			if !slices.Contains(gotLines, l) {
				t.Errorf("%s: wanted: %.300s", kind, l)
			}
		}
	}
}
