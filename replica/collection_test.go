package replica

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readWeb makes the link graph of a corpus.
func readWeb(t testing.TB, c *corpus) Web {
	w := Web{Links: make([][]uint32, len(c.pages))}
	for i := range c.pages {
		w.Pages = append(w.Pages, Address{c.pages[i].host, c.pages[i].path})
	}
	for _, line := range readLines(t, filepath.Join(c.dir, "links.tsv.gz")) {
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

// chunked makes the chunks of the pages of a corpus.
func chunked(c *corpus, how Chunking) []ChunkedPage {
	made := map[string]ChunkedPage{}
	var out []ChunkedPage
	for i := range c.pages {
		blob := c.pages[i].blob
		if _, ok := made[blob]; !ok {
			text := Text(c.blobs[blob])
			made[blob] = ChunkedPage{Chunks(Lines(text), how), Entire(Tokens(text))}
		}
		out = append(out, made[blob])
	}
	return out
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
		if c.Cardinality() < 2 || len(c.Rids) < leastPages {
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
	c := readCorpus(t)
	if c == nil {
		return
	}
	w := readWeb(t, c)
	sets := TrivialClusters(chunked(c, Chunking{}), 15)
	least := 10
	if filepath.Base(c.dir) == "mini" {
		least = 3
	}
	for kind, o := range map[string]Growing{"basic": {}, "extended": {Extended: true}} {
		var want []Cluster
		for _, line := range readLines(t, filepath.Join(c.dir, "oracle-clusters-fixed4-"+kind+".jsonl.gz")) {
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
