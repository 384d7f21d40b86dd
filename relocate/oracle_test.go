// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/testing/oracle"
)

// TestOracleLinks holds Scan against parse5, a parser of the HTML standard, on documents made of pieces that
// change how the rest is read: every address that the parser sees in the attributes of an element is a link,
// and every link is the value of an attribute. What only the building of the tree can know is left out:
// elements that it drops, and HTML inside SVG.
func TestOracleLinks(t *testing.T) {
	type attribute struct {
		Tag, Attr, Value string
		SVG              bool
	}
	inHTML := []string{"<a href=%s>", "<A HREF='%s'>", "<a title=\"<\" href=\"%s\">", "<area\nhref =\t%s/>",
		"<img src=%s alt=x>", "<img/src=%s>", "<script src=%s></script>", "<iframe src=%s></iframe>",
		"<link rel=stylesheet href=%s>", "<video poster=%s></video>", "<embed src=%s>", "<source src=%s>",
		"<a href=%s href=other>", "<a \"href=no href=%s>", "<a =x href=%s>", "<a href=%s", "</a href=%s>",
		"<!-- -->", "<!--", "-->", "--!>", "<!-->", "<!--->", "<!", "<?x", "<!DOCTYPE html>", "<![CDATA[", "]]>",
		"<style>", "</style>", "<script>", "</script>", "</script x", "<script><!--<script>",
		"<title>", "</title>", "<textarea>", "</textarea >", "<xmp>", "</xmp>", "<noscript>", "</noscript>",
		"<template>", "</template>", "<noembed>", "</noembed/>", "<p>", "</p>", "<div>", "<b>", "</b>",
		"<br/>", "<custom-tag>", "text", "&lt;", "<", ">", "\"", "'", "=", "/", " ", "\n", "\x00", "é"}
	inSVG := []string{"<a href=%s>", "<a xlink:href='%s'/>", "<image href=%s />", "<use xlink:href=\"%s\"/>",
		"<g>", "</g>", "<![CDATA[<a href=x>]]>", "<![CDATA[", "]]>", "<style/>", "<script/>", "<rect/>",
		"<!-- <a href=no> -->", "text", "&lt;"}
	wanted := map[string]string{
		"a":      "href",
		"area":   "href",
		"img":    "src",
		"script": "src",
		"iframe": "src",
		"link":   "href",
		"video":  "poster",
		"embed":  "src",
		"source": "src",
	}
	rng := oracle.Rand(t)
	docs := make([]string, 5000)
	for i := range docs {
		var b strings.Builder
		n := 0
		add := func(pieces []string) {
			p := pieces[rng.IntN(len(pieces))]
			if strings.Contains(p, "%s") {
				p = fmt.Sprintf(p, fmt.Sprintf("u%d&amp;x&#x41;", n))
				n++
			}
			b.WriteString(p)
		}
		for range 1 + rng.IntN(12) {
			add(inHTML)
		}
		if rng.IntN(4) == 0 {
			b.WriteString("<svg>")
			for range rng.IntN(8) {
				add(inSVG)
			}
			b.WriteString("</svg>")
			add(inHTML)
		}
		docs[i] = b.String()
	}
	bad := 0
	for i, attributes := range oracle.Ask[string, []attribute](t, "html", docs) {
		want, may := map[string]int{}, map[string]int{}
		for _, a := range attributes {
			if a.Attr == "href" || a.Attr == "xlink:href" || a.Attr == wanted[a.Tag] {
				may[a.Value]++ // elements of SVG have links without an <svg> around them, too
			}
			drawn := (a.Tag == "a" || a.Tag == "image" || a.Tag == "use") &&
				(a.Attr == "href" || a.Attr == "xlink:href")
			if (a.SVG && drawn) || (!a.SVG && wanted[a.Tag] == a.Attr) {
				want[a.Value]++
			}
		}
		var d Doc
		if err := d.Scan([]byte(docs[i]), Input{
			URL:           mustURL(t, "http://zoo.test/dir/page.html"),
			Format:        HTML,
			HeaderCharset: "utf-8",
		}); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, l := range d.Links {
			got[string(l.Ref)]++
		}
		for ref := range want {
			if got[ref] == 0 {
				t.Errorf("%q: %q is no link", docs[i], ref)
				bad++
			}
		}
		for ref := range got {
			if may[ref] == 0 {
				t.Errorf("%q: %q is a link", docs[i], ref)
				bad++
			}
		}
		if bad > 20 {
			break
		}
	}
}
