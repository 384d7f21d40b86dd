// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"

	"mirrord/internal/charset"
	"mirrord/site"
)

// Feed is RSS, Atom or an RDF site summary.
func (readers) Feed() reader {
	return reader{
		format: Feed,
		name:   "feed",
		types:  []string{"application/rss+xml", "application/atom+xml", "application/rdf+xml"},
		as: func(b body) Format {
			if xmlRoot(b.head) == Unknown {
				return Unknown
			}
			return Feed
		},
		roots:   []string{"rss", "feed", "RDF"},
		syntax:  charset.XML,
		declare: (*scanner).declareInXML,
		scan:    scanFeed,
		spliced: true,
	}
}

// feedScan is the state of a scan of RSS 0.9 to 2.0, RSS 1.0 (RDF) or Atom. Elements are known by their local
// names, so that the usual extensions (media, itunes, content) count wherever they stand.
type feedScan struct {
	*scanner
	x     xmlReader
	depth int
	bases []xmlBase
	inImg bool // inside RSS <image>
}

// xmlBase is an xml:base that applies to all that is deeper than depth.
type xmlBase struct {
	depth int
	url   site.URL
}

// scanFeed finds the links of a feed: items and channels are hyperlinks, images and media are requisites,
// guid permalinks are followed but stay as they are because they are names, and the HTML inside
// descriptions is scanned like srcdoc.
func scanFeed(sc *scanner, v view) {
	f := feedScan{scanner: sc, x: xmlReader{v: v}}
	root := true
	m := sc.mark()
	for {
		sc.release(m)
		m = sc.mark()
		first := len(sc.d.Links)
		switch f.x.next() {
		case xmlEnd:
			return
		case xmlPI:
			sc.stylesheetPI(&f.x)
		case xmlClose:
			f.leave()
			if string(f.x.name) == "image" {
				f.inImg = false
			}
		case xmlOpen:
			if root {
				root = false
				sc.xmlLang(&f.x)
			}
			f.depth++
			if !f.base() {
				return
			}
			f.element()
			if n := len(f.bases); n > 0 && len(sc.d.Links) > first {
				sc.resolveFrom(first, f.bases[n-1].url)
			}
			if f.x.closed {
				f.leave()
			}
		}
	}
}

// leave goes up by one element.
func (f *feedScan) leave() {
	f.depth = max(f.depth-1, 0)
	for n := len(f.bases); n > 0 && f.bases[n-1].depth > f.depth; n-- {
		f.bases = f.bases[:n-1]
	}
}

// base notes an xml:base and declares that it is blanked. It reports false when there were too many to
// continue.
func (f *feedScan) base() bool {
	a := f.x.attr("xml:base")
	if a == nil || a.v1 == a.v0 {
		return true
	}
	outer := f.in.URL
	if n := len(f.bases); n > 0 {
		outer = f.bases[n-1].url
	}
	t := f.attrText(f.x.v.sub(a.v0, a.v1), true)
	u, _, err := outer.Resolve(string(t.s))
	if err != nil || len(f.bases) >= 64 {
		return true
	}
	if !f.countBase(u) {
		return false
	}
	f.bases = append(f.bases, xmlBase{f.depth, u})
	text := ""
	if a.quote == 0 {
		text = `""`
	}
	f.d.Edits = append(f.d.Edits, Edit{
		Start: f.x.v.at(a.v0),
		End:   f.x.v.at(a.v1),
		New:   text,
		Why:   EditBase,
		Link:  -1,
	})
	return true
}

// attr emits the reference in an attribute of the element just read.
func (f *feedScan) attr(name string, kind Kind) {
	if a := f.x.attr(name); a != nil {
		f.url(f.attrText(f.x.v.sub(a.v0, a.v1), true), kind, xmlCtx(a), false)
	}
}

func (f *feedScan) value(name string) string {
	a := f.x.attr(name)
	if a == nil {
		return ""
	}
	t := f.attrText(f.x.v.sub(a.v0, a.v1), true)
	return string(bytes.ToLower(bytes.TrimSpace(t.s)))
}

// text emits the reference that is the element's text.
func (f *feedScan) text(kind Kind) {
	done := false
	f.x.text(func(v view, ctx Context) {
		if !done && len(bytes.TrimSpace(v.s)) > 0 {
			done = true
			f.url(f.decoded(v, ctx), kind, ctx, false)
		}
	})
}

// comments emits the address of a page of comments. In slash:comments there is how many they are.
func (f *feedScan) comments() {
	counts, done := len(f.x.prefix) > 0, false
	f.x.text(func(v view, ctx Context) {
		text := bytes.TrimSpace(v.s)
		if done || len(text) == 0 {
			return
		}
		if done = true; !counts || bytes.Contains(text, []byte("//")) {
			f.url(f.decoded(v, ctx), Hyperlink, ctx, false)
		}
	})
}

// html scans the element's text as HTML.
func (f *feedScan) html() {
	f.x.text(func(v view, ctx Context) {
		t := f.decoded(v, ctx)
		if bytes.IndexByte(t.s, '<') >= 0 {
			f.scanner.html(t, ctx)
		}
	})
}

func (f *feedScan) element() {
	switch string(f.x.name) {
	case "link":
		if f.x.attr("href") != nil {
			f.atomLink()
		} else {
			f.text(Hyperlink)
		}
	case "image":
		f.inImg = !f.x.closed
		f.attr("href", Requisite) // itunes:image
	case "url":
		if f.inImg {
			f.text(Requisite)
		}
	case "icon", "logo":
		f.text(Requisite)
	case "guid":
		if f.value("isPermaLink") != "false" {
			f.permalink()
		}
	case "comments":
		f.comments()
	case "uri":
		f.text(Hyperlink)
	case "enclosure":
		f.attr("url", Hyperlink)
	case "content":
		if string(f.x.prefix) == "media" || f.x.attr("url") != nil {
			f.attr("url", Requisite)
			return
		}
		f.attr("src", Hyperlink)
		if t := f.value("type"); t == "html" || t == "text/html" || t == "" {
			f.html()
		}
	case "thumbnail":
		f.attr("url", Requisite)
	case "source":
		f.attr("url", Reference)
	case "description", "encoded", "summary", "subtitle":
		f.html()
	case "title":
		if f.d.Title == "" && f.depth <= 3 {
			f.x.text(func(v view, ctx Context) {
				if f.d.Title == "" {
					f.title(v, ctx&CtxCDATA == 0)
				}
			})
		}
	case "a":
		f.attr("href", Hyperlink) // Atom content of type xhtml
	case "img":
		f.attr("src", Requisite)
	}
}

// permalink emits a guid that is a URL. It is a name that readers compare, so it is never replaced.
func (f *feedScan) permalink() {
	f.x.text(func(v view, ctx Context) {
		t := f.decoded(v, ctx)
		if b := bytes.TrimSpace(t.s); len(b) > 8 && (equalFold(b[:7], "http://") || equalFold(b[:8], "https://")) {
			f.url(t, Discovered, ctx, false)
		}
	})
}

func (f *feedScan) atomLink() {
	kind := Reference
	switch f.value("rel") {
	case "", "alternate", "enclosure", "next", "prev", "previous", "first", "last", "prev-archive",
		"next-archive", "replies", "related", "via", "license":
		kind = Hyperlink
	case "hub", "edit", "edit-media", "search":
		return
	}
	f.attr("href", kind)
}
