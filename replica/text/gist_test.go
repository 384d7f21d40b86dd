// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

// What a program writes into each answer is not the gist of a page; every other word is.
func TestGist(t *testing.T) {
	const page = "<title>Consent</title><p>Accept all cookies to read on. Request 4af1-17, 10:07:59"
	s := NewSketcher(SketchOptions{})
	at := func(address, body string) Said { return s.Said([]byte(body), address, "", true) }
	was := at("/a/b.html", page)
	for _, c := range []struct {
		name, address, page string
		same, gist          bool
	}{
		{"other markup", "/c.html",
			"<h1>Consent</h1> accept <b>all</b> cookies to read on; request 4AF1 17 10 07 59", true, true},
		{"another token", "/c.html", "Consent. Accept all cookies to read on. Request 9e77-18, 11:00:01",
			false, true},
		{"a token of more words", "/c.html", "Consent. Accept all cookies to read on. Request 9e7 78 12-7",
			false, true},
		{"a number beyond eight letters", "/c.html",
			"Consent. Accept all cookies to read on. Request reference99887", false, true},
		{"the address", "/c/d.html?x=y", "Consent c d html. Accept all cookies to read on. x Request y 1",
			false, true},
		{"a part of the address", "/requests.html",
			"Consent. Accept all cookies to read on. Request requests 1", false, true},
		{"another word", "/c.html", "Consent. Accept all cookies to write on. Request 4af1-17, 10:07:59",
			false, false},
		{"another order", "/c.html", "Accept all cookies to read on. Consent. Request 4af1-17, 10:07:59",
			false, false},
		{"letters beyond ASCII", "/c.html", "Consent. Accept all cookies to read on. Request \u00f0 1", false,
			false},
		{"no words", "/c.html", "<p>", false, false},
	} {
		now := at(c.address, c.page)
		if same, gist := now.Text == was.Text, now.Gist == was.Gist; same != c.same || gist != c.gist {
			t.Errorf("%s: the same words %v, the same gist %v", c.name, same, gist)
		}
	}
	if x, y := at("/a.html", "<p>17"), at("/a.html", "<p>18"); x.Gist == y.Gist || x.Gist != x.Text {
		t.Error("pages of numbers alone have one gist")
	}
	if d := s.HTML([]byte(page)); d != NewSketcher(SketchOptions{}).HTML([]byte(page)) {
		t.Error("a sketcher that has found out what pages say makes other sketches")
	} else if d.Text != was.Text || d.Words != 13 {
		t.Errorf("a digest has %d words, and the fingerprint %x, not %x", d.Words, d.Text, was.Text)
	}
}

// Words may end anywhere in the blocks of eight bytes that are read at once.
func TestGistOfLongWords(t *testing.T) {
	s := NewSketcher(SketchOptions{})
	said := func(body string) Said { return s.Said([]byte(body), "", "", true) }
	with := "word"
	for range 40 {
		plain, num := said("a "+with+" b"), said("a "+with+"7 b")
		marked, again := said("a "+with[:2]+"<b>"+with[2:]+"7</b> b"), said("a 7"+with+" b")
		if bare := said("a b"); plain.Gist == bare.Gist || num.Gist != bare.Gist || marked != num ||
			again.Gist != bare.Gist {
			t.Errorf("%q: %x, with a digit %x %x %x", with, plain, num, marked, again)
		}
		with += "x"
	}
}
