// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"slices"

	"mirrord/relocate"
	"mirrord/site"
)

// Limits of the search for the page that an archive begins with.
const (
	mostCandidates = 20
	mostLooked     = 200     // pages whose links are read
	mostPage       = 4 << 20 // bytes of one
	mostHops       = 20      // of redirects
	mostFirst      = 2000    // answers among which the first pages are
)

// entrySearch looks for the page that an archive begins with.
type entrySearch struct{ *Recordings }

// firstOf is what a URL answered in the first crawl that has it; nil for nothing.
func (a entrySearch) firstOf(u site.URL) *capture {
	for k := range a.Crawls {
		if c := answered(a.Recordings, k, u); c != nil {
			return c
		}
	}
	return nil
}

// isPage reports whether a URL answered with a page.
func (a entrySearch) isPage(u site.URL) bool {
	c := a.firstOf(u)
	if c == nil {
		return false
	}
	d := &a.captures[c.body]
	return (c.html || d.html) && d.good()
}

// pagesOf returns where some URLs lead that are in the archive, each once.
func (a entrySearch) pagesOf(urls []site.URL) (out []site.URL) {
	for _, u := range urls {
		if a.firstOf(u) == nil || len(out) == mostCandidates {
			continue
		}
		if u = a.Leads(u); !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// firsts returns the first page of each host, and then the first answer of all; pages of the first host come
// first. There is at least one.
func (a entrySearch) firsts() []site.URL {
	byDate := slices.Clone(a.order)
	slices.SortStableFunc(byDate, func(x, y int32) int {
		c, d := &a.captures[x], &a.captures[y]
		return cmp.Or(cmp.Compare(c.date, d.date), cmp.Compare(c.file, d.file), cmp.Compare(c.at, d.at))
	})
	var asked, pages []site.URL
	hosts := map[string]bool{}
	for _, i := range byDate[:min(len(byDate), mostFirst)] {
		c := &a.captures[i]
		u := a.names.of(c.url)
		if u.Path() == "/robots.txt" {
			continue
		}
		if len(asked) == 0 {
			asked = append(asked, u)
		}
		if c.body < 0 || c.status >= 400 || hosts[u.Host()] || len(hosts) == mostCandidates {
			continue
		}
		if to := a.Leads(u); a.isPage(to) && !slices.Contains(pages, to) {
			pages = append(pages, to)
			hosts[u.Host()] = true
		}
	}
	if len(asked) == 0 {
		return []site.URL{a.names.of(a.captures[byDate[0]].url)}
	}
	domain := asked[0].RegistrableDomain()
	slices.SortStableFunc(pages, func(u, v site.URL) int {
		rank := func(u site.URL) int {
			if u.RegistrableDomain() == domain {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(u), rank(v))
	})
	return append(pages, asked...)
}

// hub is the page of some with most links from and to other pages of the archive, of equal ones the first.
func (a entrySearch) hub(pages []site.URL) site.URL {
	if len(pages) == 1 {
		return pages[0]
	}
	number := map[site.URL]int{}
	for n, u := range pages {
		number[u] = n
	}
	score := make([]int, len(pages))
	looked := 0
	for id := 0; id < a.Len() && looked < mostLooked; id++ {
		u := a.URL(id)
		if !a.isPage(u) {
			continue
		}
		looked++
		n, isOne := number[u]
		for to := range a.linksOf(u) {
			if m, ok := number[to]; ok && to != u {
				score[m]++
			}
			if isOne && to != u && a.firstOf(to) != nil {
				score[n]++
			}
		}
	}
	best := 0
	for n := range pages {
		if score[n] > score[best] {
			best = n
		}
	}
	return pages[best]
}

// linksOf returns where links lead that people follow on a page; none of one that cannot be read.
func (a entrySearch) linksOf(u site.URL) map[site.URL]bool {
	body, err := pageOf(a.Recordings, a.firstOf(u))
	var doc relocate.Doc
	if err != nil || doc.Scan(body, relocate.Input{URL: u, MIME: "text/html"}) != nil {
		return nil
	}
	links := map[site.URL]bool{}
	for i := range doc.Links {
		l := &doc.Links[i]
		if l.Kind != relocate.Hyperlink || l.URL == nil {
			continue
		}
		links[a.Leads(site.Canonical(string(l.URL)))] = true
	}
	return links
}
