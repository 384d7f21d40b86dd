// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"testing"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/site"
)

// A page without text whose scripts make what a browser shows says nothing; a page that shows anything does.
func TestSaysNothing(t *testing.T) {
	const head = "<!DOCTYPE html><html><head><title>Shop</title><style>a{b:c}</style>" +
		"<script type=module src=/app.js></script></head><body>"
	for _, page := range []string{
		head + `<div id="root"></div></body></html>`,
		head + `<div id="root"> &nbsp; </div><noscript>Enable JavaScript.<img src=pixel.gif></noscript>`,
		head + `<div id=app>Loading…</div>`,
		head + `<div id=app><!-- app --></div>`,
		head + `<template><p>x</p></template>`,
		`<div id=root></div><script>f()</script>`,
	} {
		if !saysNothing([]byte(page)) {
			t.Errorf("it says something: %s", page)
		}
	}
	for _, page := range []string{
		head + `<p>Hello</p>`,
		head + `<img src=a.png>`,
		head + `<a href=/x></a>`,
		head + `<form></form>`,
		head + `<frameset>`,
		`<meta http-equiv=Refresh content="0;url=/x"><script>location="/x"</script>`,
		`<html><body><div></div></body></html>`,
		`<script type="application/ld+json">{}</script><div></div>`,
		"",
	} {
		if saysNothing([]byte(page)) {
			t.Errorf("it says nothing: %s", page)
		}
	}
}

// Pages that link are not read again to see whether they say something, unless only browsers without scripts
// show the link.
func TestSaysNothingBesideALink(t *testing.T) {
	const script, link = "<script src=/app.js></script>", "<a href=/x></a>"
	for page, want := range map[string]bool{
		script + link: true,
		"<noscript>" + link + "</noscript>" + script: false,
		"<template>" + link + "</template>" + script: false,
		"<!--" + link + "-->" + script:               false,
		"<script>'" + link + "'</script>":            false,
	} {
		rd := NewReader(Options{Rules: new(scope.URLRules), MaxLinks: 9})
		x := rd.Read(&Body{URL: site.Canonical("https://example.org/"), MIME: "text/html", Data: []byte(page)})
		if rd.doc.Anchor != want || (x.Cut&result.SaysNothing != 0) == want {
			t.Errorf("%s: a link %t, limits %d", page, rd.doc.Anchor, x.Cut)
		}
	}
}

func FuzzSaysNothing(f *testing.F) {
	for _, s := range []string{
		"<script>", "<noscript><p>x", "<div id=root></div><script src=x></script>", "<\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		if saysNothing(page) && !bytes.Contains(bytes.ToLower(page), []byte("<script")) {
			t.Errorf("a page without scripts says nothing: %q", page)
		}
	})
}
