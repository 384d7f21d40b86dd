// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// variant is a kind of copy that one might meet, and that none of the sets has.
type variant struct {
	name string
	// of page n of a collection; no path leaves it out
	make func(r *rand.Rand, n int, at string, body []byte) (path string, page []byte)
	// share of its pages that are said to be what they were made of, at least
	recall float64
	decoy  bool // it is no copy
	open   bool // nothing is wanted: the results are logged
}

// markupAt matches markup where it begins, with what a script or a style holds.
var markupAt = regexp.MustCompile(
	`(?is)^(?:<!--.*?-->|<script\b.*?</script[^>]*>|<style\b.*?</style[^>]*>|<[a-z/!?][^>]*>|&#?\w{1,31};?)`)

// eachWord calls f with each word of a page outside of tags, and puts what it returns in its place.
func eachWord(body []byte, f func(word []byte) []byte) []byte {
	var out []byte
	for i := 0; i < len(body); {
		c := body[i]
		if c == '<' || c == '&' {
			if n := len(markupAt.Find(body[i:])); n > 0 {
				out, i = append(out, body[i:i+n]...), i+n
				continue
			}
		}
		if !isPart(c) {
			out, i = append(out, c), i+1
			continue
		}
		to := i
		for to < len(body) && isPart(body[to]) {
			to++
		}
		out, i = append(out, f(body[i:to])...), to
	}
	return out
}

// isPart says whether a byte is part of a word: an ASCII letter, or of a character beyond ASCII.
func isPart(c byte) bool { return (c|0x20 >= 'a' && c|0x20 <= 'z') || c >= utf8.RuneSelf }

func anyWord(r *rand.Rand) []byte {
	b := make([]byte, 3+r.IntN(7))
	for i := range b {
		b[i] = "etaoinshrdlucmfw"[r.IntN(16)]
	}
	return b
}

// edited replaces a share of the words, in runs of n.
func edited(share float64, n int) func(*rand.Rand, int, string, []byte) (string, []byte) {
	return func(r *rand.Rand, _ int, at string, body []byte) (string, []byte) {
		left := 0
		return at, eachWord(body, func(w []byte) []byte {
			if left == 0 && r.Float64() < share/float64(n) {
				left = n
			}
			if left > 0 {
				left--
				return anyWord(r)
			}
			return w
		})
	}
}

func wrapped(header, footer string) func(*rand.Rand, int, string, []byte) (string, []byte) {
	return func(_ *rand.Rand, _ int, at string, body []byte) (string, []byte) {
		i := bytes.Index(bytes.ToLower(body), []byte("<body"))
		if i < 0 {
			i = 0
		} else if n := bytes.IndexByte(body[i:], '>'); n >= 0 {
			i += n + 1
		}
		return at, slices.Concat(body[:i], []byte(header), body[i:], []byte(footer))
	}
}

func same(f func(at string) string) func(*rand.Rand, int, string, []byte) (string, []byte) {
	return func(_ *rand.Rand, _ int, at string, body []byte) (string, []byte) { return f(at), body }
}

func remade(f func(body []byte) []byte) func(*rand.Rand, int, string, []byte) (string, []byte) {
	return func(_ *rand.Rand, _ int, at string, body []byte) (string, []byte) { return at, f(body) }
}

func minified(body []byte) []byte {
	var out []byte
	for i := 0; i < len(body); {
		if body[i] == '<' {
			tag := markupAt.Find(body[i:])
			i += len(tag)
			if bytes.HasPrefix(tag, []byte("<!--")) || bytes.EqualFold(tag, []byte("</p>")) ||
				bytes.EqualFold(tag, []byte("</li>")) {
				continue
			}
			if out = append(out, bytes.ToUpper(tag)...); len(tag) > 0 {
				continue
			}
		}
		if c := body[i]; c == '\n' || c == ' ' {
			if len(out) == 0 || out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		} else {
			out = append(out, c)
		}
		i++
	}
	return out
}

func kept(share float64) func(*rand.Rand, int, string, []byte) (string, []byte) {
	return func(r *rand.Rand, _ int, at string, body []byte) (string, []byte) {
		if r.Float64() >= share {
			return "", nil
		}
		return at, body
	}
}

const (
	navigation = "<div class=nav><a href=/>Home</a> <a href=/news>News of the week</a> <a href=/dl>Downloads " +
		"and mirrors</a> <a href=/about>About this archive and its keepers</a> " +
		"<form action=/s>Search all documents <input name=q></form><p>You are reading an archived copy; the " +
		"original may have changed since it was taken. Report what is missing to the keepers.</div>"
	imprint = "<hr><p>Mirrored for the benefit of readers with slow connections. Copyright remains with the " +
		"authors. Hosted by a society of volunteers, paid for by nobody; served 24 hours a day. " +
		"<a href=/contact>Contact</a> <a href=/privacy>Privacy statement</a> <a href=/stats>Statistics of " +
		"use</a></p>"
)

var variants = []variant{
	{name: "header", make: wrapped(navigation, ""), recall: 0.95},
	{name: "header and footer", make: wrapped(navigation, imprint), recall: 0.85},
	{name: "minified", make: remade(minified), recall: 0.99},
	{
		name:   "one line a word",
		make:   remade(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(" "), []byte("\r\n")) }),
		recall: 0.99,
	},
	{name: "utf-16", make: remade(replicatest.ToUTF16(binary.LittleEndian, true)), recall: 0.99},
	{name: "utf-16, no mark", make: remade(replicatest.ToUTF16(binary.BigEndian, false)), recall: 0.99},
	{name: "entities", make: remade(func(b []byte) []byte {
		return eachWord(b, func(w []byte) []byte {
			if c := w[0]; c < utf8.RuneSelf {
				return append(fmt.Appendf(nil, "&#%d;", c), w[1:]...)
			}
			return w
		})
	}), recall: 0.99},
	{name: "truncated", make: remade(func(b []byte) []byte { return b[:len(b)*19/20] }), recall: 0.97},
	{name: "moved", make: same(func(at string) string { return "/pub/mirrors/of" + at }), recall: 0.99},
	{
		name:   "htm",
		make:   same(func(at string) string { return strings.TrimSuffix(at, path.Ext(at)) + ".htm" }),
		recall: 0.99,
	},
	{
		name:   "php",
		make:   same(func(at string) string { return "/show.php?page=" + strings.ReplaceAll(at, "/", "%2F") }),
		recall: 0.99,
	},
	{name: "capitals", make: same(strings.ToUpper), recall: 0.99},
	{
		name:   "flat",
		make:   same(func(at string) string { return "/all/" + strings.ReplaceAll(at, "/", "_") }),
		recall: 0.99,
	},
	{
		name:   "hashed",
		make:   same(func(at string) string { return fmt.Sprintf("/h/%x.html", hash.Mix(hash.Token(at))) }),
		recall: 0.99,
	},
	{name: "hashed, header", make: func(r *rand.Rand, n int, at string, body []byte) (string, []byte) {
		_, body = wrapped(navigation, "")(r, n, at, body)
		return fmt.Sprintf("/h/%x.html", hash.Mix(hash.Token(at))), body
	}, recall: 0.5},
	{name: "70 %", make: kept(0.7), recall: 0.99},
	{name: "50 %", make: kept(0.5), recall: 0.99},
	{name: "30 %", make: kept(0.3), recall: 0.99},
	{name: "30 %, moved, header", make: func(r *rand.Rand, n int, at string, body []byte) (string, []byte) {
		if at, body = kept(0.3)(r, n, at, body); at == "" {
			return "", nil
		}
		_, body = wrapped(navigation, "")(r, n, at, body)
		return "/old/2009" + at, body
	}, recall: 0.95},
	{name: "5 % of words", make: edited(0.05, 1), recall: 0.9},
	{name: "5 % in runs", make: edited(0.05, 6), recall: 0.95},
	{name: "10 % in runs", make: edited(0.1, 6), recall: 0.93},
	{name: "20 % in runs", make: edited(0.2, 12), recall: 0.8},
	{name: "10 % of words", make: edited(0.1, 1), open: true},
	{name: "20 % of words", make: edited(0.2, 1), open: true},
	{name: "translated", decoy: true, make: remade(func(b []byte) []byte {
		return eachWord(b, func(w []byte) []byte {
			return anyWord(rand.New(rand.NewPCG(hash.Token(w), 1)))
		})
	})},
	{name: "translated but for examples", open: true, make: remade(func(b []byte) []byte {
		var out []byte
		for {
			i := bytes.Index(b, []byte("<pre"))
			if i < 0 {
				i = len(b)
			}
			out = append(out, eachWord(b[:i], func(w []byte) []byte {
				return anyWord(rand.New(rand.NewPCG(hash.Token(w), 1)))
			})...)
			if b = b[i:]; len(b) == 0 {
				return out
			}
			if i = bytes.Index(b, []byte("</pre")); i < 0 {
				i = len(b)
			}
			out, b = append(out, b[:i]...), b[i:]
		}
	})},
	{name: "first halves", open: true, make: remade(func(b []byte) []byte { return b[:len(b)/2] })},
}

// unseen is one copy of each collection of a corpus, and what a variant makes of it.
type unseen struct {
	pages   []Address
	digests []text.ContentDigest
	work    []string // that a page is of: its collection, without its language
	number  []int    // of a page in its collection
	base    []int    // the page that a variant's page was made of; -1 for that
}

// Copies of kinds that no set has are found, and their pages; and nothing else.
func TestUnseenVariants(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	truth := readCopies(t, c)
	base := map[string]string{} // the largest copy of each collection
	for name, cp := range truth {
		k := cp.family + "-" + cp.lang
		if b, ok := base[k]; cp.pages >= 10 && cp.family != "root" &&
			(!ok || cp.pages > truth[b].pages || (cp.pages == truth[b].pages && name < b)) {
			base[k] = name
		}
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { makeUnseen(c, base, v).check(t, v) })
	}
}

func makeUnseen(c *replicatest.Corpus, base map[string]string, v variant) *unseen {
	u := &unseen{}
	s := text.NewSketcher(text.SketchOptions{})
	add := func(a Address, body []byte, family string, n, of int) {
		work, _, _ := strings.Cut(family, "-")
		u.pages, u.digests = append(u.pages, a), append(u.digests, s.HTML(body))
		u.work, u.number, u.base = append(u.work, work), append(u.number, n), append(u.base, of)
	}
	for _, family := range slices.Sorted(maps.Keys(base)) {
		host, prefix, _ := strings.Cut(base[family], "|")
		n, r := 0, rand.New(rand.NewPCG(hash.Token(family), 7))
		for i := range c.Pages {
			p := &c.Pages[i]
			if p.Copy != base[family] || p.Host != host {
				continue
			}
			n++
			body, at := c.Blobs[p.Blob], "/"+strings.TrimPrefix(p.Path, prefix)
			add(Address{"base." + family, at}, body, family, n, -1)
			if there, page := v.make(r, n, at, bytes.Clone(body)); there != "" {
				add(Address{"copy." + family, there}, page, family, n, len(u.pages)-1)
			}
		}
	}
	return u
}

func (u *unseen) check(t *testing.T, v variant) {
	found := findAll(t, u.pages, u.digests)
	copies, of := u.copies(t, v, found)
	pages, same := 0, 0
	for i, b := range u.base {
		if b >= 0 && u.digests[i].Words > 0 {
			pages++
			if found.same(uint32(b), uint32(i)) {
				same++
			}
		}
	}
	right, wrong := 0, 0
	for _, members := range found.sets.All(2) {
		for i, p := range members {
			for _, q := range members[i+1:] {
				switch {
				case u.digests[p].Text == u.digests[q].Text || !found.same(p, q):
				case u.work[p] != u.work[q]:
					wrong++
				case u.pages[p].Host[4:] != u.pages[q].Host[4:]: // a page that was not translated
				case u.number[p] == u.number[q]:
					right++
				default:
					wrong++
				}
			}
		}
	}
	recall := float64(same) / float64(max(pages, 1))
	t.Logf("%d of %d copies; %d of %d pages: %.3f; pairs of pages that are not of the same words: %d right, "+
		"%d wrong", copies, of, same, pages, recall, right, wrong)
	switch {
	case v.open:
	case v.decoy && (copies > 0 || recall > 0.01):
		t.Errorf("found %d of %d decoys, %d of %d pages", copies, of, same, pages)
	case v.decoy:
	case 10*copies < 9*of || recall < v.recall || 20*wrong > max(pages, right):
		t.Errorf("found %d of %d copies, %.3f of the pages, want %.3f; %d pairs of pages wrong", copies, of, recall,
			v.recall, wrong)
	}
}

// copies counts the copies of ten pages and more of which half were found.
func (u *unseen) copies(t *testing.T, v variant, f *found) (copies, of int) {
	size, covered := map[string]int{}, map[string]int{}
	for _, a := range u.pages {
		size[a.Host]++
	}
	wrong := 0
	for _, p := range f.pairs {
		if p.A.Host > p.B.Host {
			p.A, p.B, p.OfA, p.OfB = p.B, p.A, p.OfB, p.OfA
		}
		_, family, _ := strings.Cut(p.A.Host, ".")
		_, other, _ := strings.Cut(p.B.Host, ".")
		switch {
		case family == other && p.A.Host != p.B.Host:
			covered[p.B.Host] += p.OfB
		case strings.TrimRight(family, "abcdefghijklmnopqrstuvwxyz") != strings.TrimRight(other,
			"abcdefghijklmnopqrstuvwxyz") || family == other:
			wrong++
			t.Logf("wrong: %v %v: %d of %d, %d", p.A, p.B, p.Pages, p.OfA, p.OfB)
		}
	}
	for host, n := range size {
		if strings.HasPrefix(host, "copy.") && n >= 10 {
			if of++; 2*covered[host] >= n {
				copies++
			} else if !v.open && !v.decoy {
				t.Logf("missed: %s, %d of %d", host, covered[host], n)
			}
		}
	}
	if !v.open && !v.decoy && 10*wrong > len(f.pairs) {
		t.Errorf("%d of %d pairs of directories are wrong", wrong, len(f.pairs))
	}
	return copies, of
}
