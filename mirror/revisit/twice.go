// SPDX-License-Identifier: Apache-2.0

package revisit

import (
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

// mostCompared is how many pages of a run are compared to see whether readers see what changed.
const mostCompared = 16

// IsUnseen reports whether a page differs from the stored one only where no reader sees it, so that a program
// may have made it although its validators are those of a file. It compares the first ones of a run.
func (p *Noise) IsUnseen(a PageAnswer) bool {
	if len(a.Was) == 0 || p.compared.Add(1) > mostCompared {
		return false
	}
	found, ok := volatile.Apart(a.Was, a.Body, nil)
	seen := slices.ContainsFunc(found, func(d volatile.Variation) bool { return d.Prose })
	return ok && len(found) > 0 && !seen
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
