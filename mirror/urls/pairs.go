// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"path"
	"strings"

	"mirrord/site"
)

// PairsFact is where a site keeps its Pairs.
const PairsFact = "pairs"

// Pairs are URLs that say what another one says, in each run that looked at both, such as the index of a
// directory beside the directory, and ?id=start beside the page without it: a Pair by URL.
type Pairs map[string]*Pair

// Pair is the knowledge about such a URL.
type Pair struct {
	Main    string `json:"main"`              // the other one, which is requested for both
	Votes   int    `json:"votes"`             // runs in which both said the same; one more by name or rel=canonical
	Run     int    `json:"run"`               // the last of them
	Differs bool   `json:"differs,omitempty"` // later it said something else: they are two pages
}

// Two runs make a pair of a directory and its index, and three any other one: a page of the present month
// says for some weeks what the page without a month says, and an audit has to end such a pair.
const pairVotes = 3

// mostPairs bounds Pairs.
const mostPairs = 1 << 14

// Holds reports whether the two are one page.
func (p *Pair) Holds() bool { return p != nil && !p.Differs && p.Votes >= pairVotes }

// Mark marks in a table of a run which URLs are one page with another one that the mirror has.
func (p Pairs) Mark(t Settled) {
	for u, x := range p {
		id, ok := t.Find([]byte(u))
		main, is := t.Find([]byte(x.Main))
		if x.Holds() && ok && is && t.State(id).InSet() && t.State(main).InSet() {
			t.at(id).seen |= Joined
		}
	}
}

// Part makes a URL a page of its own again, which enters the mirror in this run.
func (t Settled) Part(id uint32) {
	e := t.at(id)
	if e.seen &^= Joined | Changed; e.flags&fInSet != 0 {
		e.seen |= Entered
	}
}

// Vote counts a comparison of two URLs in a run, which found them the same or not. more is as how many
// further runs their names count. It reports whether they were one page before, and whether they are now.
func (p Pairs) Vote(run int, u, main site.URL, same bool, more int) (were, are bool) {
	x := p[u.String()]
	were = x.Holds()
	switch {
	case x != nil && x.Differs:
	case !same && were:
		x.Differs = true
	case !same:
		delete(p, u.String())
	case x == nil || x.Main != main.String():
		if len(p) < mostPairs {
			p[u.String()] = &Pair{Main: main.String(), Votes: 1 + more, Run: run}
		}
	case x.Run != run && !were:
		x.Votes, x.Run = x.Votes+1, run
	}
	return were, p[u.String()].Holds()
}

// PairOf returns the URL with which another one may be a pair, the zero URL for none. index says that this is
// the directory of a page that has the name of an index.
func PairOf(u site.URL) (other site.URL, index bool) {
	s := u.String()
	if q, has := u.Query(); has {
		if strings.ContainsAny(q, "&;") {
			return other, false
		}
		return site.Canonical(strings.TrimSuffix(s, "?"+q)), false
	}
	name := path.Base(u.Path())
	ext := path.Ext(name)
	if stem := strings.TrimSuffix(name, ext); ext == "" || (stem != "index" && stem != "default") {
		return other, false
	}
	return site.Canonical(strings.TrimSuffix(s, name)), true
}
