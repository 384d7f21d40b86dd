// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/internal/volatile"
	"mirrord/site"
)

// PageAnswer is one answer for a page.
type PageAnswer struct {
	URL  site.URL
	Body []byte
	Was  []byte // what the mirror has of the page, nil for nothing
	Tag  string // its ETag
	At   time.Time
}

// Twice is a page that is to be requested once more, with its first answer.
type Twice struct {
	PageAnswer
	shape   uint64
	urgent  int  // 0 first
	more    int  // requests for what changed, if this one explains nothing
	suspect bool // its validators are blamed if this one explains nothing
}

func newTwice(a PageAnswer, shape uint64, urgent int) *Twice {
	return &Twice{PageAnswer: a, shape: shape, urgent: urgent}
}

// Blames reports whether the page changed, in more than noise, although its validators stayed the same.
func (q *Twice) Blames(known volatile.Positions) bool {
	_, _, same := known.Same(q.Was, q.Body)
	return q.suspect && !same
}

// ShowsTime reports whether the first answer says when it was made, to the second: then another one may only
// differ after that.
func (q *Twice) ShowsTime() bool { return volatile.ShowsTime(q.Body, q.At) }

// shapeOf names the template of a page: by its beginning, and by the parameters of its URL.
func shapeOf(u site.URL, body []byte) uint64 {
	var h xxh3.Hasher
	h.Write(volatile.Beginning(body))
	query, _ := u.Query()
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		h.WriteString(name)
		h.WriteString("&")
	}
	return h.Sum64()
}

// worth is of how many pages a second answer tells something, less with each that came before. The caller
// holds mu.
func (p *Noise) worth(q *Twice) float64 {
	came := 1
	if s := p.shapes[q.shape]; s != nil {
		came = max(s.came, 1)
	}
	return float64(came) / float64((1+q.urgent)*(1+q.urgent))
}

// same counts the positions that are known and did not differ in two answers. A clock shows the same within a
// second. The caller holds mu.
func (p *Noise) same(q *Twice, again []byte, found []volatile.Variation) {
	all := volatile.Positions{}
	for at, f := range p.positions {
		if !f.Clock {
			all[at] = f.At
		}
	}
	for _, d := range found {
		delete(all, d.Position)
	}
	for _, hit := range all.Masked(q.Body).Hits {
		if f := p.positions[hit.Position]; f.Kind != volatile.Gap || bytes.Contains(again, hit.Value) {
			f.Seen++ // else they differ between nearer texts, which both have by chance
		}
	}
}

// unsure reports whether a difference is not yet believed to be noise. The caller holds mu.
func (p *Noise) unsure(d volatile.Variation) bool {
	f := p.positions[d.Position]
	return f == nil || (!f.IsSure() && (f.Prose || f.Wide))
}

// waits returns where a page is among those that are to be requested twice, -1 for nowhere. The caller holds
// mu.
func (p *Noise) waits(u site.URL) int {
	return slices.IndexFunc(p.waiting, func(q *Twice) bool { return q.URL == u })
}
