// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"time"
	"unicode/utf8"

	"mirrord/internal/charset"
)

// Sitemap is a urlset or a sitemapindex.
func (readers) Sitemap() reader {
	return reader{
		format:  Sitemap,
		name:    "sitemap",
		roots:   []string{"urlset", "sitemapindex"},
		syntax:  charset.XML,
		declare: (*scanner).declareInXML,
		scan:    (*scanner).sitemap,
	}
}

// SitemapEntry is one address of a sitemap or sitemap index (sitemaps.org protocol 0.9).
type SitemapEntry struct {
	Loc     string // as written, white space trimmed and character references decoded
	LastMod string // W3C date or date and time as written, or ""
}

// Time returns LastMod as a time; a date without time is its midnight in UTC.
func (e SitemapEntry) Time() (time.Time, bool) {
	for _, layout := range [...]string{
		time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02", "2006-01", "2006",
	} {
		if t, err := time.Parse(layout, e.LastMod); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// SitemapList is what a sitemap holds.
type SitemapList struct {
	Index     bool // the entries are sitemaps themselves
	Entries   []SitemapEntry
	Truncated bool // there were more than max
}

// maxLoc is the longest address kept, in bytes; the protocol allows 2048.
const maxLoc = 64 << 10

// ScanSitemap reads a sitemap, a sitemap index or a text sitemap (one URL a line) and keeps at most limit
// entries (0: 50 000, the protocol's limit). It never fails: of a document that is cut off or not well formed
// it returns what can be read.
func ScanSitemap(raw []byte, limit int) SitemapList {
	if limit <= 0 {
		limit = 50_000
	}
	var list SitemapList
	var d Doc
	sc := &d.sc
	sc.d = &d
	sc.cs, _ = charset.Browser(raw, charset.XML, "")
	v := view{s: raw}
	switch {
	case sc.cs.Transcoded() && len(raw) > MaxDecoded:
		list.Truncated = true
		return list
	case sc.cs.Transcoded():
		dec := sc.newDecoder(&v)
		v = dec.document(sc.cs)
	}
	if s := bytes.TrimLeft(v.s, "\ufeff\t\n\r "); len(s) > 0 && s[0] != '<' {
		return textSitemap(s, limit)
	}
	x := xmlReader{v: v}
	m := sc.mark()
	var entry SitemapEntry
	flush := func() bool {
		if entry.Loc != "" {
			if len(list.Entries) >= limit {
				list.Truncated = true
				return false
			}
			list.Entries = append(list.Entries, entry)
		}
		entry = SitemapEntry{}
		return true
	}
	for {
		switch x.next() {
		case xmlEnd:
			flush()
			return list
		case xmlOpen:
			switch string(x.name) {
			case "sitemapindex":
				list.Index = true
			case "url", "sitemap":
				if !flush() {
					return list
				}
			case "loc":
				if len(x.prefix) == 0 || string(x.prefix) == "sm" || string(x.prefix) == "sitemap" {
					if loc := sc.elementText(&x); loc != "" {
						entry.Loc = loc
					}
				}
			case "lastmod":
				entry.LastMod = sc.elementText(&x)
			}
			sc.release(m)
		case xmlClose:
			if n := string(x.name); n == "url" || n == "sitemap" {
				if !flush() {
					return list
				}
			}
		}
	}
}

// elementText returns the trimmed text of the element just read.
func (sc *scanner) elementText(x *xmlReader) string {
	var out []byte
	x.text(func(v view, ctx Context) {
		t := sc.decoded(v, ctx)
		if len(out)+len(t.s) <= maxLoc {
			out = append(out, t.s...)
		}
	})
	return string(bytes.TrimSpace(out))
}

func textSitemap(s []byte, limit int) SitemapList {
	var list SitemapList
	for len(s) > 0 {
		line := s
		if i := bytes.IndexByte(s, '\n'); i >= 0 {
			line, s = s[:i], s[i+1:]
		} else {
			s = nil
		}
		line = bytes.TrimSpace(line)
		if len(line) > maxLoc || !utf8.Valid(line) ||
			(!bytes.HasPrefix(line, []byte("http://")) && !bytes.HasPrefix(line, []byte("https://"))) {
			continue
		}
		if len(list.Entries) >= limit {
			list.Truncated = true
			return list
		}
		list.Entries = append(list.Entries, SitemapEntry{Loc: string(line)})
	}
	return list
}

// sitemap emits what a sitemap names: pages, further sitemaps, images and videos, translations. Nothing of it
// is replaced.
func (sc *scanner) sitemap(v view) {
	x := xmlReader{v: v}
	m := sc.mark()
	for {
		sc.release(m)
		m = sc.mark()
		switch x.next() {
		case xmlEnd:
			return
		case xmlPI:
			sc.stylesheetPI(&x)
		case xmlOpen:
			switch string(x.name) {
			case "loc", "content_loc", "thumbnail_loc", "player_loc":
				x.text(func(v view, ctx Context) {
					if len(bytes.TrimSpace(v.s)) > 0 {
						sc.url(sc.decoded(v, ctx), Discovered, ctx, false)
					}
				})
			case "link":
				if a := x.attr("href"); a != nil {
					sc.url(sc.attrText(x.v.sub(a.v0, a.v1), true), Discovered, xmlCtx(a), false)
				}
			}
		}
	}
}
