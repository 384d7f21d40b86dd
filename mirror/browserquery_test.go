// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mirrord/relocate"
	"mirrord/site"
)

// queryCharsets are the encodings in which a browser sends the query of a link.
var queryCharsets = []string{
	"shift_jis", "big5", "euc-jp", "gbk", "gb18030", "euc-kr", "iso-2022-jp", "windows-1252", "koi8-r",
	"iso-8859-2",
}

// allQueries returns the URLs that a page has for a link with each character in its query.
const allQueries = `(() => {
	const a = document.createElement('a'), out = [document.characterSet];
	for (let i = 0xa0; i < 0x10000; i++) {
		if (i >= 0xd800 && i < 0xf900) continue
		a.setAttribute('href', '/?q=' + String.fromCodePoint(i) + 'b')
		out.push(a.href)
	}
	return out.join(' ')
})()`

// TestBrowserQueries holds the URL of a link with each character of the basic plane in its query, in
// documents of many encodings, against the one that a browser has for it. Private characters are left out:
// the encodings of China have some, which no decoder of ours makes.
func TestBrowserQueries(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	dir := t.TempDir()
	for i, cs := range queryCharsets {
		if i%4 != 0 && !long() { // each takes half a second under the race detector
			continue
		}
		const head = "<!DOCTYPE html><meta charset=%s><base href=\"http://www.example.org/\"><title>q</title>"
		raw := fmt.Sprintf(head, cs)
		page := filepath.Join(dir, cs+".html")
		if err := os.WriteFile(page, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		at := (&url.URL{Scheme: "file", Path: page}).String()
		if err := chromedp.Do(b.ctx, chromedp.Navigate(at)); err != nil {
			t.Fatal(err)
		}
		want, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](allQueries))
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Split(want, " ")
		if !strings.EqualFold(list[0], cs) {
			t.Fatalf("the browser read %s as %s", cs, list[0])
		}
		var doc strings.Builder
		doc.WriteString(raw)
		for i := 0xa0; i < 0x10000; i++ {
			if i < 0xd800 || i >= 0xf900 {
				fmt.Fprintf(&doc, "<a href='/?q=&#%d;b'>", i)
			}
		}
		base, _, err := site.Parse("http://www.example.org/")
		if err != nil {
			t.Fatal(err)
		}
		var d relocate.Doc
		in := relocate.Input{URL: base, MIME: "text/html", Format: relocate.HTML}
		in.MaxLinks = 100_000
		if err := d.Scan([]byte(doc.String()), in); err != nil {
			t.Fatal(err)
		}
		links := d.Links[len(d.Links)-(len(list)-1):]
		wrong := 0
		for i := range links {
			if got := string(links[i].URL); got != list[i+1] {
				if wrong++; wrong < 12 {
					t.Errorf("%s: %s, want %s", cs, got, list[i+1])
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d characters differ", cs, wrong)
		}
	}
}
