// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"slices"
	"testing"
)

// What only an XML processor can put together is no link: a template in an attribute's value of an XSLT
// stylesheet, an entity that a document declares. What a stylesheet imports is one.
func TestComputedInXML(t *testing.T) {
	const xsl = `<?xml version="1.0"?><xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform">` +
		`<xsl:import href="base.xsl"/><xsl:include href='more.xsl'/><xsl:template match="/"><link href="x.css" ` +
		`rel="stylesheet"/><a href="{link}"/><a href="/go/{@id}/x.html"/><p style="background:url({@u})"/>` +
		`<a href="a.html?x={{1}}"/><a href="b.html"/></xsl:template></xsl:stylesheet>`
	for _, tt := range []struct {
		mime, doc string
		want      []string
	}{
		{"application/xml", xsl, []string{"base.xsl", "more.xsl", "x.css", "b.html"}},
		{"text/xsl", xsl, []string{"base.xsl", "more.xsl", "x.css", "b.html"}},
		{"image/svg+xml", `<svg><a href="{a}"/><import href="b"/></svg>`, []string{"%7Ba%7D"}},
		{"image/svg+xml", `<!DOCTYPE svg [<!ENTITY dir "../i">]><svg><image href="&dir;/a.png"/>` +
			`<image href="b.png?&amp;dir;"/><a href="&eacute;.html"/><a href="&#x63;.html"/><a href="?a&b=c;d"/></svg>`,
			[]string{"b.png?&dir;", "%C3%A9.html", "c.html", "x.xml?a&b=c;d"}},
	} {
		var d Doc
		in := Input{URL: mustURL(t, "http://zoo.test/x.xml"), MIME: tt.mime}
		if err := d.Scan([]byte(tt.doc), in); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range d.Links {
			got = append(got, string(l.URL[len("http://zoo.test/"):]))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s:\n%q, want %q", tt.mime, tt.doc, got, tt.want)
		}
	}
}
