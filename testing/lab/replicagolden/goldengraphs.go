// SPDX-License-Identifier: Apache-2.0

package replicagolden

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mirrord/replica/collections"
	"mirrord/replica/unionfind"
	"mirrord/testing/lab/linked"
)

// goldenGraph is a link graph of pages written as name@host, where pages whose names begin with the same
// letter are of one trivial cluster.
type goldenGraph struct {
	Pages    []string
	Links    [][2]string
	Basic    [][2]string `json:"tcg_basic"`
	Extended [][2]string `json:"tcg_extended"`
	Clusters map[string][][]goldenCollection
}

type goldenCollection struct{ Own, Virtual []string }

func (c *goldenCheck) graphs() {
	for _, name := range slices.Sorted(maps.Keys(c.g.Graphs)) {
		c.graph(name, c.g.Graphs[name])
	}
}

func (c *goldenCheck) graph(name string, g goldenGraph) {
	number, first := map[string]uint32{}, map[string]uint32{}
	w, sets := linked.Graph{Links: make([][]uint32, len(g.Pages))}, unionfind.New(len(g.Pages))
	for i, p := range g.Pages {
		number[p] = uint32(i)
		page, host, _ := strings.Cut(p, "@")
		w.Pages = append(w.Pages, collections.Address{Host: host, Path: "/" + page})
		letter := page[:min(1, len(page))]
		if j, ok := first[letter]; ok {
			sets.Union(j, uint32(i))
		} else {
			first[letter] = uint32(i)
		}
	}
	for _, l := range g.Links {
		p, known := number[l[0]]
		if q, ok := number[l[1]]; ok && known {
			w.Links[p] = append(w.Links[p], q)
		}
	}
	edges := func(extended bool) [][2]string {
		out := [][2]string{}
		for _, e := range w.Edges(sets, extended) {
			out = append(out, [2]string{g.Pages[e[0]][:1], g.Pages[e[1]][:1]})
		}
		slices.SortFunc(out, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		return out
	}
	c.same(name+": edges", edges(false), g.Basic)
	c.values(name+": extended edges", edges(true), g.Extended)
	for kind, o := range map[string]linked.Growing{
		"basic":              {},
		"extended":           {Extended: true},
		"extended_chain_all": {Extended: true, Chain: linked.ChainAll},
	} {
		var got [][]goldenCollection
		for _, cluster := range linked.Grow(w, sets, o) {
			var cols []goldenCollection
			for _, col := range cluster.Collections {
				cols = append(cols, goldenCollection{pageNames(g.Pages, col.Own), pageNames(g.Pages, col.Virtual)})
			}
			got = append(got, cols)
		}
		c.values(name+": clusters, "+kind, clusterText(got), clusterText(g.Clusters[kind]))
	}
}

func pageNames(pages []string, of []uint32) []string {
	out := []string{}
	for _, p := range of {
		out = append(out, pages[p])
	}
	slices.Sort(out)
	return out
}

// clusterText writes clusters in an order of their own.
func clusterText(clusters [][]goldenCollection) []string {
	out := []string{}
	for _, c := range clusters {
		lines := []string{}
		for _, col := range c {
			lines = append(lines, fmt.Sprint(col.Own, col.Virtual))
		}
		slices.Sort(lines)
		out = append(out, strings.Join(lines, " "))
	}
	slices.Sort(out)
	return out
}
