// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"fmt"
	"strings"
	"testing"
)

// A Doc that has forgotten a document keeps capacity for the next one, and nothing that refers to the one
// before: the memory of that may be gone. It reads the next document as a new Doc does.
func TestForget(t *testing.T) {
	page := func(links int) []byte {
		return []byte("<title>t</title>" + strings.Repeat(`<a href="x?a&amp;b">x</a>`, links))
	}
	read := func(d *Doc, raw []byte) string {
		t.Helper()
		err := d.Scan(raw, Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%q %q %+v", d.Title, d.Charset, d.Links)
	}
	want := read(new(Doc), page(3))
	var d Doc
	for _, links := range []int{100, keepAlways + 1} {
		read(&d, page(links))
		d.Forget()
		if links <= keepAlways && cap(d.Links) < links {
			t.Errorf("%d links: capacity for %d is left", links, cap(d.Links))
		}
		if links > keepAlways && d.Links != nil {
			t.Errorf("%d links: capacity for %d is kept", links, cap(d.Links))
		}
		for i, l := range d.Links[:cap(d.Links)] {
			if l.Ref != nil || l.URL != nil {
				t.Fatalf("link %d of %d is still known: %q", i, links, l.URL)
			}
		}
		if got := read(&d, page(3)); got != want {
			t.Errorf("after %d links: %s\nwant %s", links, got, want)
		}
	}
}
