// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"mirrord/relocate"
	"mirrord/site"
)

const linkPage = `<!DOCTYPE html><html><head><base href="/dir/"><title>t</title>
<link rel=stylesheet href="/a.css" integrity="sha256-x" crossorigin><script src='b.js' integrity=sha384-y></script>
<meta http-equiv="Content-Security-Policy" content="default-src 'self'"><style>@import "c.css"; p { background: url(d.png) }</style></head>
<body><a href="e.html#f">e</a> <a href=mailto:x@y>m</a> <img srcset="g.png 1x, h.png 2x"> <form action="/i"><a href="http://far.example/">far</a>
<iframe srcdoc="<a href='j&amp;amp;k.html'>j</a>"></iframe> <a rel=nofollow href="../l.html">l</a></body></html>`

// scanned returns the links of a page.
func scanned(t testing.TB, page string) *relocate.Doc {
	t.Helper()
	u, _, err := site.Parse("http://www.example.org/page.html")
	if err != nil {
		t.Fatal(err)
	}
	d := new(relocate.Doc)
	if err := d.Scan([]byte(page), relocate.Input{
		URL:           u,
		Format:        relocate.HTML,
		HeaderCharset: "windows-1252",
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLinksRoundTrip(t *testing.T) {
	d := scanned(t, linkPage)
	if len(d.Links) < 10 || len(d.Edits) < 4 {
		t.Fatalf("the page has %d links and %d edits", len(d.Links), len(d.Edits))
	}
	numbers := map[int]uint32{}
	for i := range d.Links {
		if i%3 != 0 {
			numbers[i] = uint32(i * 1000)
		}
	}
	numberOf := func(i int) (uint32, bool) {
		id, ok := numbers[i]
		return id, ok
	}
	b := AppendLinks(nil, d, numberOf)
	var got StoredLinks
	if err := got.Decode(b); err != nil {
		t.Fatal(err)
	}
	if got.Charset != d.Charset {
		t.Errorf("charset %q, want %q", got.Charset, d.Charset)
	}
	n := 0
	renumbered := map[int32]int32{-1: editAlways}
	for i := range d.Links {
		want := &d.Links[i]
		if want.URL == nil {
			continue
		}
		renumbered[int32(i)] = int32(n)
		l, target := got.Links[n], got.Targets[n]
		if l.Start != want.Start || l.End != want.End || l.Ctx != want.Ctx || l.Kind != want.Kind ||
			target.Absolute != want.Absolute || target.Plain != want.Plain {
			t.Errorf("link %d: %+v, %+v; want %+v", i, l, target, want)
		}
		if id, ok := numbers[i]; (ok && (target.Literal != nil || target.ID != id)) ||
			(!ok && !bytes.Equal(target.Literal, want.URL)) {
			t.Errorf("link %d has target %d, %q", i, target.ID, target.Literal)
		}
		n++
	}
	if n != len(got.Links) || n != len(got.Targets) {
		t.Errorf("%d links, want %d", len(got.Links), n)
	}
	var edits []relocate.Edit
	for _, e := range d.Edits {
		if link, ok := renumbered[e.Link]; ok {
			e.Link = link
			edits = append(edits, e)
		}
	}
	if !reflect.DeepEqual(got.Edits, edits) {
		t.Errorf("edits %+v\nwant %+v", got.Edits, edits)
	}
}

// An edit that belongs to a link without a URL is dropped: the target is never inside the set.
func TestLinksEditOfNoURL(t *testing.T) {
	d := &relocate.Doc{
		Links: []relocate.Link{{Start: 1, End: 2}, {Start: 5, End: 9, URL: []byte("http://h/")}},
		Edits: []relocate.Edit{{Start: 3, End: 4, Link: 0}, {
			Start: 10,
			End:   12,
			New:   "x",
			Link:  1,
		}, {Start: 20, End: 20, New: "y", Link: -1}},
	}
	var got StoredLinks
	if err := got.Decode(AppendLinks(nil, d, func(int) (uint32, bool) { return 7, true })); err != nil {
		t.Fatal(err)
	}
	want := []relocate.Edit{{Start: 10, End: 12, New: "x", Link: 0}, {Start: 20, End: 20, New: "y", Link: -1}}
	if !slices.Equal(got.Edits, want) || len(got.Links) != 1 || got.Targets[0].ID != 7 {
		t.Errorf("%+v, %+v", got.Edits, got.Targets)
	}
}

func TestLinksDamaged(t *testing.T) {
	b := AppendLinks(nil, scanned(t, linkPage), func(i int) (uint32, bool) { return uint32(i), i%2 == 0 })
	var d StoredLinks
	for i := range b {
		if err := d.Decode(b[:i]); !errors.Is(err, errLinks) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if err := d.Decode(append(slices.Clone(b), 0)); !errors.Is(err, errLinks) {
		t.Errorf("one byte too many: %v", err)
	}
	b[0]++
	if err := d.Decode(b); !errors.Is(err, errLinks) {
		t.Errorf("another version: %v", err)
	}
}

// FuzzLinks decodes what may be any bytes: it must end, within memory that the input's size bounds, and
// what it takes must survive.
func FuzzLinks(f *testing.F) {
	f.Add(AppendLinks(nil, scanned(f, linkPage), func(i int) (uint32, bool) { return uint32(i), i%2 == 0 }))
	f.Add(AppendLinks(nil, scanned(f, "<p>"), nil))
	f.Add([]byte{linksVersion, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d StoredLinks
		if err := d.Decode(b); err != nil {
			return
		}
		if len(d.Links) != len(d.Targets) || len(d.Links) > len(b) || len(d.Edits) > len(b) {
			t.Fatalf("%d links, %d targets, %d edits of %d bytes", len(d.Links), len(d.Targets), len(d.Edits), len(b))
		}
		for i, e := range d.Edits {
			if e.Link < editAlways || int(e.Link) >= len(d.Links) {
				t.Fatalf("edit %d belongs to link %d of %d", i, e.Link, len(d.Links))
			}
		}
		for i, l := range d.Links {
			if l.Start < 0 || l.End < l.Start {
				t.Fatalf("link %d spans %d to %d", i, l.Start, l.End)
			}
		}
	})
}
