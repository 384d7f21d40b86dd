// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/site/listing"
	"mirrord/store/record"
)

// RelocatedLinks times limits.max_links are relocated, so that a page with too many links to follow still
// reads right from a copy. It bounds the memory that a page of nothing but links can cost.
const RelocatedLinks = 10

// Options are what reading depends on.
type Options struct {
	Rules        *scope.URLRules
	MaxLinks     int  // links that are followed of a document
	Scripts      bool // addresses in scripts count as links
	ObeyRobots   bool // robots metas count
	ObeyNofollow bool // nofollow counts
	ByProfile    bool // but not for what the profile of the site wants
	// Tired reports whether addresses in scripts are no longer followed. It is called for some of them.
	Tired func() bool
}

// Body is a body that came, with the facts about it before it is read.
type Body struct {
	URL     site.URL
	MIME    string
	Charset string // of the header; "" for none
	// Around says the encoding of the document that links to it, "" when that is not known. Only style sheets
	// and scripts of which the header names none ask it; nil knows nothing.
	Around   func() string
	Data     []byte
	Sitemap  bool              // robots.txt or an index names it as a sitemap
	NoFollow bool              // the header forbids to follow its links
	NoIndex  bool              // the header forbids to list it
	Links    []string          // the Link fields of the header (RFC 8288)
	Refresh  string            // the Refresh field of the header
	Also     []scope.Candidate // what else it links to
	Now      time.Time         // when it came: robots metas may end at a time
	Cookies  []string          // the names of those that came with it, in lower case
}

// Extract is what a body says. It refers to the body, and to its Reader until that reads the next body.
type Extract struct {
	Format     relocate.Format // of a document whose links are relocated; Unknown: it is kept as it came
	Doc        *relocate.Doc   // of such a document
	Sitemap    *relocate.SitemapList
	Listing    *listing.Listing  // the directory listing that it is; nil for none
	Shape      uint32            // of a page, see Shape
	Around     string            // what Body.Around said
	NoArchive  bool              // its metas forbid to keep it
	NoFollow   bool              // its metas or the header forbid to follow its links
	NoIndex    bool              // they forbid to list it; no profile knows the program
	Candidates []scope.Candidate // its links
	IDs        []int64           // for the numbers of the candidates, -1 for one without
	Cut        result.Cut        // the limits that cut it short
	Notes      []string          // kinds of notes under which the summary lists the URL

	where []int   // the link of each candidate
	of    []int64 // the number of each link's URL, -1 for none
}

// Reader reads bodies, one at a time. It keeps its buffers from one to the next.
type Reader struct {
	Options
	doc      relocate.Doc
	x        Extract
	sketcher *text.Sketcher // nil until there is a page
}

// NewReader returns a Reader.
func NewReader(o Options) *Reader { return &Reader{Options: o} }

// Forget lets go of all that refers to the last body, and of buffers that are too large to be kept.
func (rd *Reader) Forget() {
	x := &rd.x
	rd.doc.Forget()
	*x = Extract{
		Candidates: relocate.Emptied(x.Candidates),
		IDs:        relocate.Emptied(x.IDs),
		where:      relocate.Emptied(x.where),
		of:         relocate.Emptied(x.of),
	}
}

// Read reads a body.
func (rd *Reader) Read(b *Body) *Extract {
	x := &rd.x
	*x = Extract{
		NoFollow:   b.NoFollow,
		Candidates: x.Candidates[:0],
		IDs:        x.IDs[:0],
		where:      x.where[:0],
		of:         x.of,
	}
	format := relocate.Detect(b.MIME, b.URL, b.Data[:min(len(b.Data), 1024)])
	if (format == relocate.CSS || format == relocate.Script) && (b.Charset == "") && (b.Around != nil) {
		x.Around = b.Around()
	}
	switch {
	case b.Sitemap:
		if rd.sitemap(b); (len(x.Sitemap.Entries) == 0) && rd.isOther(b, format) {
			x.Sitemap = nil
			rd.document(b, format)
		}
	case format == relocate.Script:
		if rd.Scripts {
			rd.script(b)
		}
	case format != relocate.Unknown:
		rd.document(b, format)
	case rd.Scripts && namesFiles(b.URL):
		rd.loads(b, indexLoads(b))
	default:
		rd.data(b)
	}
	x.IDs = slices.Grow(x.IDs, len(x.Candidates))[:len(x.Candidates)]
	return x
}

// isOther reports whether an alleged sitemap is a page or feed of the mirror: some sites have a page
// of links there, a feed, or an error page with status 200.
func (rd *Reader) isOther(b *Body, format relocate.Format) bool {
	return ((format == relocate.HTML) || (format == relocate.Feed)) && rd.Rules.Scope.Covers(b.URL) &&
		rd.Rules.ListAt(b.URL) == nil
}

// document reads a document whose links are relocated.
func (rd *Reader) document(b *Body, format relocate.Format) {
	x := &rd.x
	x.Format, x.Doc = format, &rd.doc
	most := RelocatedLinks * rd.MaxLinks
	err := rd.doc.Scan(b.Data, relocate.Input{
		URL:           b.URL,
		HeaderCharset: b.Charset,
		Around:        x.Around,
		Refresh:       b.Refresh,
		Format:        format,
		NoScripts:     !rd.Scripts,
		MaxLinks:      most,
	})
	if err != nil {
		x.Notes = append(x.Notes, unreadLinks+err.Error())
	}
	x.Cut |= cutBy(rd.doc.Truncated)
	if rd.doc.Truncated&relocate.BoundLinks != 0 {
		const what = "documents with more than %d links: the rest was left as it was"
		x.Notes = append(x.Notes, fmt.Sprintf(what, most))
	}
	if rd.ObeyRobots {
		meta := directives(&rd.doc, rd.Rules.Product, b.Now)
		x.NoArchive = meta.NoArchive
		x.NoFollow = x.NoFollow || (rd.ObeyNofollow && meta.NoFollow)
		x.NoIndex = rd.ObeyNofollow && (meta.NoIndex || b.NoIndex)
	}
	if format == relocate.HTML || b.MIME == "application/xhtml+xml" {
		rd.Rules.Profiles.See(b.Data, b.Cookies, slices.Contains(rd.Rules.Seeds, b.URL))
	}
	if format == relocate.HTML {
		x.Shape = Shape(&rd.doc, b.Data)
		x.Listing = listingOf(b)
		if !rd.doc.Anchor && saysNothing(b.Data) { // most pages link
			x.Cut |= result.SaysNothing
		}
	}
	rd.links(b)
	rd.header(b)
	if len(rd.Rules.Profiles.Known()) > 0 {
		x.NoIndex = false
		x.NoFollow = x.NoFollow && !rd.ByProfile // else the wanted links were followed
	}
	if format == relocate.SVG { // any XML
		rd.data(b)
	}
	if format == relocate.HTML && rd.Scripts {
		rd.loads(b, pageLoads(b, rd.doc.Links))
	}
	x.Candidates = append(x.Candidates, b.Also...)
}

// unreadLinks begins a note.
const unreadLinks = "documents whose links could not be found: "

// script reads what a script of its own names. The script is kept as it is, but for an encoding that only the
// header names.
func (rd *Reader) script(b *Body) {
	err := rd.doc.Scan(b.Data, relocate.Input{
		URL:           b.URL,
		HeaderCharset: b.Charset,
		Around:        rd.x.Around,
		Format:        relocate.Script,
		MaxLinks:      RelocatedLinks * rd.MaxLinks,
	})
	if err != nil {
		rd.x.Notes = append(rd.x.Notes, unreadLinks+err.Error())
		return
	}
	rd.x.Cut |= cutBy(rd.doc.Truncated)
	rd.links(b)
	rd.loads(b, scriptLoads(b))
	if len(rd.doc.Edits) > 0 {
		for i := range rd.doc.Links {
			rd.doc.Links[i].URL = nil // strings mean something else on each page
		}
		rd.x.Format, rd.x.Doc = relocate.Script, &rd.doc
	}
}

// cutBy names the limits that a scan reached.
func cutBy(b relocate.Bound) (cut result.Cut) {
	for _, c := range [...]struct {
		bound relocate.Bound
		cut   result.Cut
	}{
		{relocate.BoundLinks, result.CutLinks},
		{relocate.BoundText, result.CutText},
		{relocate.BoundURLs, result.CutURLs},
		{relocate.BoundNesting, result.CutNesting},
	} {
		if b&c.bound != 0 {
			cut |= c.cut
		}
	}
	return cut
}

// Spread spreads the numbers of the candidates over the links of the document, and returns the number of the
// URL of a link; false for one without.
func (x *Extract) Spread() func(link int) (uint32, bool) {
	x.of = slices.Grow(x.of[:0], len(x.Doc.Links))[:len(x.Doc.Links)]
	for i := range x.of {
		x.of[i] = -1
	}
	for c, i := range x.where {
		x.of[i] = x.IDs[c]
	}
	return func(i int) (uint32, bool) { return uint32(x.of[i]), x.of[i] >= 0 }
}

// DropSessions takes the session ids out of links to pages of the site that have no number, such as those of
// a trap: they are others in each answer, and the document is the same. It follows Spread.
func (x *Extract) DropSessions(rules *scope.URLRules) {
	for i := range x.Doc.Links {
		l := &x.Doc.Links[i]
		if x.of[i] >= 0 || !bytes.ContainsAny(l.URL, "?;(") {
			continue
		}
		u := site.Canonical(string(l.URL))
		if s, had := rules.StripSession(u); had && rules.Scope.Covers(u) {
			l.URL, l.Absolute = []byte(s.String()), false
		}
	}
}

// Targets returns the numbers of all candidates that have one, sorted, each once: as a record.Mention those
// that are not followed, as a record.Guess those that only a script names. Of a document that names a URL of
// the site without a number, record.Unnumbered is the last one.
func (x *Extract) Targets(rules *scope.URLRules) []uint32 {
	out := make([]uint32, 0, len(x.IDs))
	for i, id := range x.IDs {
		switch c := &x.Candidates[i]; {
		case id < 0:
		case !c.Follow:
			out = append(out, uint32(id)|record.Mention)
		case c.Guess:
			out = append(out, uint32(id)|record.Guess)
		default:
			out = append(out, uint32(id))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if x.Doc != nil && x.unnumbered(rules) {
		out = append(out, record.Unnumbered)
	}
	return slices.Clip(out)
}

// unnumbered reports whether the document names a URL of the site that has no number: when another page leads
// to it one day, the document must be relocated again.
func (x *Extract) unnumbered(rules *scope.URLRules) bool {
	for i := range x.Candidates {
		if c := &x.Candidates[i]; x.IDs[i] < 0 && !c.Follow {
			if ok, _ := rules.Allow(site.Canonical(string(c.URL)), c.Purpose); ok {
				return true
			}
		}
	}
	return false
}

// Links returns how many links the last document has.
func (rd *Reader) Links() int { return len(rd.doc.Links) }
