// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"mirrord/relocate"
	"mirrord/site"
)

// webGraph is what a site is to an order: pages, what they lead to and what they need.
type webGraph struct {
	urls  []string
	links [][]uint32 // hyperlinks and frames, each once, as they stand
	needs [][]uint32 // requisites
	pages []uint32   // the documents that people read
	rank  []float64  // PageRank among pages
}

// readGraph is that of a folder of files which a web server offers, as far as it is reachable from its start.
func readGraph(root string) (*webGraph, error) {
	const host = "http://site.test"
	g, ids := &webGraph{}, map[string]uint32{}
	id := func(u string) uint32 {
		n, ok := ids[u]
		if !ok {
			n = uint32(len(g.urls))
			ids[u] = n
			g.urls, g.links, g.needs = append(g.urls, u), append(g.links, nil), append(g.needs, nil)
		}
		return n
	}
	id(host + "/")
	var d relocate.Doc
	for n := uint32(0); int(n) < len(g.urls); n++ {
		u, err := url.Parse(g.urls[n])
		if err != nil {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(u.Path))
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name = filepath.Join(name, "index.html")
		}
		ext := strings.ToLower(filepath.Ext(name))
		html := ext == ".html" || ext == ".htm" || ext == ".xhtml"
		if !html && ext != ".css" {
			continue
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // a dead link: a request like another
		}
		self, _, err := site.Parse(g.urls[n])
		if err != nil {
			continue
		}
		if html {
			g.pages = append(g.pages, n)
		}
		if err := d.Scan(raw, relocate.Input{URL: self}); err != nil {
			return nil, err
		}
		seen := map[uint32]bool{n: true}
		for _, l := range d.Links {
			if !bytes.HasPrefix(l.URL, []byte(host+"/")) || l.Kind > relocate.Requisite {
				continue
			}
			to := id(string(l.URL))
			if seen[to] {
				continue
			}
			seen[to] = true
			if l.Kind == relocate.Requisite {
				g.needs[n] = append(g.needs[n], to)
			} else {
				g.links[n] = append(g.links[n], to)
			}
		}
	}
	if len(g.pages) == 0 {
		return nil, fmt.Errorf("%s: no pages are reachable from its index.html", root)
	}
	g.setRank()
	return g, nil
}

// madeGraph is a small site of folders: an index links to indexes, those to their pages, and each page to its
// neighbours, to some pages of the first folder, and to what it needs.
func madeGraph(folders, pages int) *webGraph {
	g, rnd := &webGraph{}, rand.New(rand.NewPCG(1, 2))
	add := func(u string) uint32 {
		g.urls, g.links, g.needs = append(g.urls, u), append(g.links, nil), append(g.needs, nil)
		return uint32(len(g.urls) - 1)
	}
	all := make([][]uint32, folders)
	start := add("http://site.test/")
	style := add("http://site.test/style.css")
	for f := range all {
		for p := range pages {
			all[f] = append(all[f], add(fmt.Sprintf("http://site.test/%d/%d.html", f, p)))
		}
	}
	g.pages = append(g.pages, start)
	for f := range all {
		g.links[start] = append(g.links[start], all[f][0])
		for p, n := range all[f] {
			g.pages = append(g.pages, n)
			g.needs[n] = append(g.needs[n], style, add(fmt.Sprintf("http://site.test/%d/%d.png", f, p)))
			if p == 0 {
				g.links[n] = append(g.links[n], all[f][1:]...)
			}
			g.links[n] = append(g.links[n], start, all[f][(p+1)%pages], all[0][rnd.IntN(5)])
		}
	}
	g.setRank()
	return g
}

// setRank computes PageRank (Page, Brin and others 1998, damping 0.85) over the links.
func (g *webGraph) setRank() {
	n := len(g.urls)
	g.rank = make([]float64, n)
	for i := range g.rank {
		g.rank[i] = 1 / float64(n)
	}
	next := make([]float64, n)
	for range 40 {
		lost := 0.0
		clear(next)
		for i, links := range g.links {
			if len(links) == 0 {
				lost += g.rank[i]
			}
			for _, to := range links {
				next[to] += g.rank[i] / float64(len(links))
			}
		}
		for i := range next {
			next[i] = 0.15/float64(n) + 0.85*(next[i]+lost/float64(n))
		}
		g.rank, next = next, g.rank
	}
}
