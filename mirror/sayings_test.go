// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
)

// newsSite is a site of 8 directories with 25 pages each, of which three anywhere are edited in a week, and
// of which nothing else tells before.
type newsSite struct {
	says    saying
	week    int
	edited  []int // by page: the week of its last edit
	rnd     *rand.Rand
	asked   atomic.Int64
	content map[string]string // of this week, by path
}

// saying is what the hubs of a newsSite say: its front page, the index of each directory and its feed.
type saying string

const (
	nothingSaid saying = "nothing but the week"
	dates       saying = "when each was edited"
	recent      saying = "the latest ones"
	inFeed      saying = "the latest ones, in a feed"
	anything    saying = "a new date of each every week"
)

const newsDirs, newsPages = 8, 25

func newNewsSite(s saying) *newsSite {
	n := &newsSite{
		says:   s,
		edited: make([]int, newsDirs*newsPages),
		rnd:    rand.New(rand.NewPCG(3, 17)),
	}
	n.write()
	return n
}

func (n *newsSite) path(page int) string {
	return fmt.Sprintf("/d%d/p%03d.html", page/newsPages, page)
}

func (n *newsSite) advance() (changed []string) {
	n.week++
	for range 3 {
		page := n.rnd.IntN(len(n.edited))
		if n.edited[page] < n.week {
			n.edited[page] = n.week
			changed = append(changed, n.path(page))
		}
	}
	n.write()
	return changed
}

// beside is what an index says of pages beside their link.
func (n *newsSite) beside(pages ...int) string {
	last := 0
	for _, p := range pages {
		last = max(last, n.edited[p])
	}
	day := time.Date(2025, 1, 3, 0, 0, 0, 0, time.UTC)
	switch n.says {
	case dates:
		return day.AddDate(0, 0, 7*last).Format(", 2 January 2006")
	case anything:
		return day.AddDate(0, 0, 7*n.week).Format(", 2 January 2006")
	}
	return ""
}

func (n *newsSite) write() {
	n.content = map[string]string{}
	var front strings.Builder
	fmt.Fprintf(&front, "<!DOCTYPE html><title>News</title><p>Week %d.\n<ul>\n", n.week)
	all := make([]int, len(n.edited))
	for d := range newsDirs {
		var index strings.Builder
		fmt.Fprintf(&index, "<!DOCTYPE html><title>Part %d</title><table>\n", d)
		for i := range newsPages {
			page := d*newsPages + i
			all[page] = page
			fmt.Fprintf(&index, "<tr><td><a href=\"p%03d.html\">Page %d</a><td>%s\n", page, page, n.beside(page))
			n.content[n.path(page)] = fmt.Sprintf("<!DOCTYPE html><title>Page %d</title><p>Text %d of week %d.\n",
				page, page, n.edited[page])
		}
		n.content[fmt.Sprintf("/d%d/", d)] = index.String()
		part := all[d*newsPages : (d+1)*newsPages]
		fmt.Fprintf(&front, "<li><a href=\"d%d/\">Part %d</a>%s\n", d, d, n.beside(part...))
	}
	front.WriteString("</ul>")
	slices.SortStableFunc(all, func(a, b int) int { return n.edited[b] - n.edited[a] })
	if n.says == inFeed {
		front.WriteString("<link rel=alternate type=application/atom+xml href=feed.xml>\n")
		n.content["/feed.xml"] = n.feed(all[:10])
	}
	if n.says == recent {
		front.WriteString("<h2>Latest edits</h2>\n<ol>\n")
		for _, page := range all[:10] {
			fmt.Fprintf(&front, "<li><a href=\"%s\">Page %d</a>\n", n.path(page)[1:], page)
		}
		front.WriteString("</ol>\n")
	}
	n.content["/"] = front.String()
}

func (n *newsSite) feed(pages []int) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>News</title>\n")
	for _, p := range pages {
		fmt.Fprintf(&b, "<entry><title>Page %d</title><link href=%q/><updated>%d</updated></entry>\n", p, n.path(p),
			n.edited[p])
	}
	return b.String() + "</feed>\n"
}

func (n *newsSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := n.content[r.URL.Path]
	if r.URL.Path != "/robots.txt" && ok {
		n.asked.Add(1)
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16])
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.URL.Path == "/feed.xml" {
		w.Header().Set("Content-Type", "application/atom+xml")
	}
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write([]byte(text))
}

func (n *newsSite) state() map[string][32]byte {
	out := map[string][32]byte{}
	for p, text := range n.content {
		out[p] = sha256.Sum256([]byte(text))
	}
	return out
}

func (n *newsSite) count() int64 { return n.asked.Load() }

// Single edits follow no pattern that could be learned from which pages changed before. What the hubs of a
// site say of its pages tells of them; what says something new of everything is found out.
func TestWhatHubsSayIsEvidence(t *testing.T) {
	t.Parallel()
	all, syncs := []saying{nothingSaid, dates, recent, inFeed, anything}, 31
	if !long() {
		all, syncs = all[:2], 9
	}
	for _, s := range all {
		k := keep(t, newNewsSite(s), policy.Adaptive, syncs, func(j *jobfile.Job) {
			j.Adaptive.Price, j.Limits.MaxSkipTime = 0.1, "0"
		})
		asked, found := float64(k.requests)/float64(syncs-1), float64(k.found)/float64(k.changes)
		t.Logf("%-32s %.1f requests a week, %.1f%% of the edits found at once, CR %.3f, stale %.2f%%", s, asked,
			100*found, k.macro, 100*k.stale)
		switch s {
		case dates, recent, inFeed:
			if found < 0.95 || k.stale > 0.005 || asked > 50 {
				t.Errorf("%s: want nearly all edits for at most 50 requests a week", s)
			}
		case nothingSaid: // or what the others find would be no evidence for hints
			if found > 0.3 {
				t.Errorf("%s: %.2f of the edits are found all the same", s, found)
			}
		case anything: // all indexes change in every week
			if asked > 90 {
				t.Errorf("%s: it is followed on and on", s)
			}
		}
	}
}
