// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestAgainstParser: every reference that a whole HTML parser sees in the usual attributes is found here with
// the same value.
func TestAgainstParser(t *testing.T) {
	want := map[string]string{
		"a":      "href",
		"area":   "href",
		"img":    "src",
		"script": "src",
		"iframe": "src",
		"frame":  "src",
		"link":   "href",
		"video":  "poster",
		"embed":  "src",
		"source": "src",
	}
	pages, _ := benchPages(t)
	checked := 0
	for _, p := range pages {
		var d Doc
		if err := d.Scan(p, Input{URL: benchURL(t), Format: HTML, HeaderCharset: "utf-8"}); err != nil {
			t.Fatal(err)
		}
		root, err := html.ParseWithOptions(bytes.NewReader(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))),
			html.ParseOptionEnableScripting(false))
		if err != nil || d.Charset != "utf-8" || d.sc.base != nil {
			continue // deeper than the parser goes, or another encoding than it expects
		}
		found := map[string]int{}
		for _, l := range d.Links {
			found[string(l.Ref)]++
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode || want[n.Data] == "" || n.Namespace != "" {
				continue
			}
			for _, a := range n.Attr {
				ref, _, _ := strings.Cut(strings.Trim(a.Val, "\t\n\f\r "), "#")
				scheme, _, _ := strings.Cut(ref, ":")
				if a.Key != want[n.Data] || ref == "" ||
					(scheme != ref && !strings.HasPrefix(scheme, "http") && schemeLen([]byte(ref)) > 0) ||
					strings.Contains(ref, "\ufffd") {
					continue
				}
				if n.Data == "link" && (strings.Contains(attrOf(n, "rel"), "preconnect") ||
					strings.Contains(attrOf(n, "rel"), "dns-prefetch")) {
					continue
				}
				checked++
				if found[ref] == 0 {
					t.Fatalf("<%s %s=%q> was not found", n.Data, a.Key, a.Val)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d references to compare", checked)
	}
}

func attrOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return strings.ToLower(a.Val)
		}
	}
	return ""
}
