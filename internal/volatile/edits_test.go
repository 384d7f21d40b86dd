// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// living is a site whose pages have noise in all places, in answers of one moment too, and when it is bare
// also where no element has a name.
type living struct {
	r    *rand.Rand
	bare bool
}

func (l living) token(n int) string {
	const hex = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = hex[l.r.IntN(16)]
	}
	return string(b)
}

// answer is an answer for a page of which the seed decides what it says.
func (l living) answer(seed uint64) []byte {
	c := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
	words := strings.Fields(
		"harbour lamp orchard copper winter ledger stone river paper engine meadow signal glass")
	text := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = words[c.IntN(len(words))]
		}
		return strings.Join(out, " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><head><title>%s %d</title>\n", text(2), seed)
	fmt.Fprintf(&b, `<meta name="csrf-token" content="%s">`+"\n", l.token(40))
	fmt.Fprintf(&b, `<script>RLCONF={"wgTitle":"%s","wgRequestId":"%s","wgArticleId":%d};</script>`+"\n",
		text(1), l.token(24), seed)
	fmt.Fprintf(&b, `<link rel="stylesheet" href="/style.css?v=%d"></head>`+"\n", 3)
	fmt.Fprintf(&b, `<body class="page-%d"><div id="nav"><a href="/p/%d">next</a> <a href="/p/%d">one</a>`,
		seed, seed+1, seed+7)
	fmt.Fprintf(&b, `<a href="/login?token=%s">login</a></div>`+"\n<div id=\"main\"><h1>%s</h1>\n", l.token(20), text(3))
	for range 4 {
		fmt.Fprintf(&b, "<p>%s. On %d November 2025 it cost %d.%02d EUR, %s.</p>\n", text(12), 1+c.IntN(28),
			c.IntN(90), c.IntN(100), text(6))
	}
	b.WriteString("<table class=\"list\">\n")
	for range 5 {
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%d</td><td><img src=\"/i/%d.png\" alt=\"%s\"></td><td>%x</td></tr>\n",
			text(2), c.IntN(1000), c.IntN(50), text(1), c.Uint32()|0x10000000)
	}
	fmt.Fprintf(&b, "</table>\n<ul>\n<li>%s\n<li>%s\n<li>%s\n</ul>\n", text(4), text(4), text(4))
	if l.bare {
		b.WriteString("<p>You may also like\n")
		for range 1 + l.r.IntN(6) {
			n := l.r.IntN(4000)
			fmt.Fprintf(&b, "<p><a href=\"/p/%d\">%s of %s</a> for %d EUR\n", n%50, words[n%7], words[n%11], n%90)
		}
		b.WriteString("<hr>\n")
	}
	b.WriteString("<pre>\n" + l.shuffled(8, func(i int) string {
		return fmt.Sprintf("2026-01-%02d <a href=\"m%d/\">%s</a> (%d)\n", 1+c.IntN(28), i, text(2), c.IntN(9))
	}) + "</pre>\n<p class=\"tags\">" + l.shuffled(6, func(i int) string {
		return fmt.Sprintf("<a href=\"/tag/%d\">%s</a>, ", i, text(1))
	}) + "</p>\n")
	fmt.Fprintf(&b, `<form><input type="hidden" name="token" value="%s"><input name="q" value="12"></form></div>`+"\n",
		l.token(40))
	fmt.Fprintf(&b, `<div class="related"><ul>`)
	for range 2 + l.r.IntN(3) {
		n := l.r.IntN(40)
		fmt.Fprintf(&b, `<li><a href="/p/%d">%s %d</a>`, n, words[n%len(words)], n)
	}
	fmt.Fprintf(&b, "</ul></div>\n"+`<div class="no"><img src="/run.php?id=p%d&amp;%d" width="2"></div>`+"\n",
		seed, 1795800000+l.r.IntN(90000))
	fmt.Fprintf(&b,
		"<div id=\"foot\"><p>Generated in 0.%03d seconds by this server. Last modified 2025-11-%02d.</p></div>\n",
		1+l.r.IntN(998), 1+c.IntN(28))
	fmt.Fprintf(&b, "<script>mw.config.set({\"wgBackendResponseTime\":%d});</script>\n", 10+l.r.IntN(900))
	fmt.Fprintf(&b, "<!-- request %s of page %d -->\n</body></html>\n", l.token(16), seed)
	return []byte(b.String())
}

// shuffled returns items in another order each time.
func (l living) shuffled(n int, item func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = item(i)
	}
	l.r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return strings.Join(all, "")
}

// reorders reports whether an edit does nothing but move lines or items of an element whose order is masked.
func (k Positions) reorders(doc, edited []byte, at span) bool {
	for _, b := range blocksOf(doc) {
		if k[b.path].Kind == Order && b.from <= at.from && at.to <= b.to && len(doc) == len(edited) {
			how := k[b.path].Short
			return bytes.Equal(inOrder(doc[b.from:b.to], how), inOrder(edited[b.from:b.to], how))
		}
	}
	return false
}

// masked returns where a document is masked.
func (k Positions) masked(doc []byte) (out []span) {
	d := read(doc)
	for i := range d.units {
		if u := &d.units[i]; true {
			if _, ok := u.in(k, d); ok {
				out = append(out, u.span)
			}
		}
	}
	for _, at := range k {
		if i := bytes.Index(doc, []byte(at.Before)); at.Kind == Gap && i >= 0 {
			out = append(out, span{i + len(at.Before), bytes.Index(doc, []byte(at.After))})
		}
	}
	for i := range d.elements {
		if e := &d.elements[i]; k[e.path].Kind == Region && e.small(doc) {
			out = append(out, span{e.from, e.to})
		}
	}
	return out
}

// edit makes one edit of a page, and returns where.
func edit(r *rand.Rand, doc []byte) ([]byte, span) {
	change := func(from, to int, by string) ([]byte, span) {
		out := append(bytes.Clone(doc[:from]), by...)
		return append(out, doc[to:]...), span{from, to}
	}
	for {
		at := r.IntN(len(doc) - 40)
		switch r.IntN(8) {
		case 0: // a digit
			if c := doc[at]; digit(c) {
				return change(at, at+1, string('0'+(c-'0'+1+byte(r.IntN(9)))%10))
			}
		case 1: // a letter
			if c := doc[at]; letter(c) {
				return change(at, at+1, string('a'+(c|0x20-'a'+1+byte(r.IntN(25)))%26))
			}
		case 2: // a word, a date, a price or a link more
			if doc[at] == ' ' {
				more := [...]string{"kettle", "on 3 May 2026", "7.50 EUR", `<a href="/x">x</a>`, "<img src=y.png>", "12"}
				return change(at, at, " "+more[r.IntN(len(more))])
			}
		case 3: // a word less
			if end := bytes.IndexByte(doc[at+1:], ' '); doc[at] == ' ' && end > 0 && end < 20 {
				return change(at, at+1+end, "")
			}
		case 4: // a line that moves
			a := bytes.IndexByte(doc[at:], '\n')
			if a < 0 {
				continue
			}
			b := bytes.IndexByte(doc[at+a+1:], '\n')
			if b < 0 {
				continue
			}
			c := bytes.IndexByte(doc[at+a+b+2:], '\n')
			if c < 0 {
				continue
			}
			from, mid, to := at+a+1, at+a+b+2, at+a+b+c+3
			return change(from, to, string(doc[mid:to])+string(doc[from:mid]))
		case 5: // an element less
			if end := bytes.IndexByte(doc[at:], '>'); doc[at] == '<' && end > 0 {
				return change(at, at+end+1, "")
			}
		case 6: // another address
			if bytes.HasPrefix(doc[at:], []byte(`="/`)) {
				return change(at+3, at+3, "other/")
			}
		default: // text where a digit was
			if digit(doc[at]) {
				return change(at, at+1, "many")
			}
		}
	}
}

// No edit of a page is masked, unless it is one of what stands at a position, by something of its kind.
func TestNoEditIsMasked(t *testing.T) {
	for name, bare := range map[string]bool{"named": false, "bare": true} {
		t.Run(name, func(t *testing.T) { campaign(t, bare) })
	}
}

func campaign(t *testing.T, bare bool) {
	edits := 1000
	if os.Getenv("MIRRORD_LONG") != "" {
		edits = 50_000
	}
	l := living{rand.New(rand.NewPCG(3, 4)), bare} //nolint:gosec // a test
	k := Positions{}
	for seed := range uint64(4) {
		found, ok := Apart(l.answer(seed), l.answer(seed), l.answer(seed))
		if !ok {
			t.Fatal("two answers differ in more than positions")
		}
		for _, d := range found {
			if !d.Wide && 2*d.Differed >= d.Seen {
				k[d.Position] = d.At
			}
		}
	}
	exempt := 0
	for n := range edits {
		seed := uint64(10 + n%50)
		was, now := l.answer(seed), l.answer(seed)
		if a, b, same := k.Same(was, now); !same {
			t.Fatalf("noise is a change:\n%s\n%s", a.Body, b.Body)
		}
		edited, at := edit(l.r, now)
		if _, _, same := k.Same(was, Ranked(was, edited)); !same || bytes.Equal(edited, now) {
			continue
		}
		inside := k.reorders(now, edited, at)
		for _, s := range k.masked(now) {
			inside = inside || (at.from >= s.from && at.to <= s.to)
		}
		if exempt++; !inside {
			t.Fatalf("an edit is masked: %q in\n%s", now[at.from:at.to], edited)
		}
	}
	t.Logf("%d of %d edits were of masked values, by its kind", exempt, edits)
	if exempt > edits/3 {
		t.Errorf("%d of %d edits are masked", exempt, edits)
	}
}
