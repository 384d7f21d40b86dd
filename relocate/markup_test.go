// SPDX-License-Identifier: Apache-2.0

package relocate_test

import (
	"bytes"
	"testing"

	"golang.org/x/net/html"

	"mirrord/relocate"
)

// slowMarkup says the same by another tokenizer: of each byte of a page, what it is part of.
func slowMarkup(page []byte) []relocate.Markup {
	out := make([]relocate.Markup, len(page))
	z := html.NewTokenizer(bytes.NewReader(page))
	at, raw := 0, ""
	for {
		t := z.Next()
		n := len(z.Raw())
		part := relocate.MarkupRaw
		switch t {
		case html.ErrorToken:
			for ; at < len(page); at++ {
				out[at] = relocate.MarkupRaw
			}
			return out
		case html.TextToken:
			if raw == "" || raw == "title" || raw == "textarea" {
				part = relocate.MarkupText
			}
			raw = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			part = relocate.MarkupTag
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext":
				raw = string(name)
			default:
				raw = ""
			}
		case html.EndTagToken:
			part, raw = relocate.MarkupTag, ""
		}
		for range n {
			out[at] = part
			at++
		}
	}
}

func FuzzMarkup(f *testing.F) {
	for _, s := range []string{
		`<!DOCTYPE html><title>a<b</title><p class="x>y">text < 5 <!-- a > b --> <br/></p></>x</ y>`,
		`<script>if (a<b) "<p>"</script ><style></style><xmp><p></xmp><textarea>&lt;</textarea>`,
		`<?php x ?><plaintext><p>`, `<a href="not closed`, `</p x="y">z<`, `a</`, `<script/>a<p></script>`,
		`<script><!-- <script> </script> --> </script>`, `<title></title>`, `<iframe><p`, `<`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		if relocate.EscapedSign.Match(page) {
			return
		}
		want := slowMarkup(page)
		x := relocate.FindMarkup(page)
		for at := range page {
			start, part := x.At(at)
			if part != want[at] || start > at {
				t.Fatalf("%q: byte %d is part %d from %d, want %d", page, at, part, start, want[at])
			}
		}
	})
}
