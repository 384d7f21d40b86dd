// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"mirrord/site"
)

// Bounds on what one row is read of; no server writes more.
const (
	maxCells   = 16
	maxLinks   = 8
	maxText    = 4 << 10 // of a cell, a link, a heading; bytes
	maxHeading = 8       // headings looked at
)

type regionKind uint8

const (
	regionNone regionKind = iota
	regionPre
	regionTable
	regionList
)

// A link is an anchor of a row.
type link struct {
	href, text []byte
	cell       int
	image      bool // holds an <img>
}

// icon reports whether the link is around an icon only.
func (l *link) icon() bool { return l.image && len(bytes.Trim(l.text, white)) == 0 }

// A cell is a table cell; in <pre> and <li> the text before the link is the first, that after it the second.
type cell struct {
	text     []byte // outside links
	datetime []byte // of <time>
	bytes    []byte // data-order, data-size
}

// A row collects the parts of one line, table row or list item. Its buffers are used again.
type row struct {
	cells  []cell
	links  []link
	image  bool
	header bool // has a <th>
	over   bool // a bound was hit
}

func (r *row) reset() {
	r.cells, r.links = r.cells[:0], r.links[:0]
	r.image, r.header, r.over = false, false, false
}

func (r *row) blank() bool {
	for i := range r.cells {
		if len(bytes.Trim(r.cells[i].text, white)) > 0 {
			return false
		}
	}
	return len(r.links) == 0 && !r.over
}

func (r *row) addCell() *cell {
	if len(r.cells) == maxCells {
		r.over = true
		return &r.cells[maxCells-1]
	}
	if len(r.cells) < cap(r.cells) {
		r.cells = r.cells[:len(r.cells)+1]
	} else {
		r.cells = append(r.cells, cell{})
	}
	c := &r.cells[len(r.cells)-1]
	c.text, c.datetime, c.bytes = c.text[:0], c.datetime[:0], c.bytes[:0]
	return c
}

// lastCell returns the cell that is being read.
func (r *row) lastCell() *cell {
	if len(r.cells) == 0 {
		return r.addCell()
	}
	return &r.cells[len(r.cells)-1]
}

func (r *row) addLink(href []byte) bool {
	if len(r.links) == maxLinks {
		r.over = true
		return false
	}
	r.lastCell()
	if len(r.links) < cap(r.links) {
		r.links = r.links[:len(r.links)+1]
	} else {
		r.links = append(r.links, link{})
	}
	l := &r.links[len(r.links)-1]
	l.href, l.text, l.cell = append(l.href[:0], href...), l.text[:0], len(r.cells)-1
	l.image = false
	return true
}

func (r *row) add(dst, text []byte) []byte {
	if len(dst)+len(text) > maxText {
		r.over = true
		return dst
	}
	return append(dst, text...)
}

// parser reads an HTML page from tag to tag. A region (pre, table, list) is claimed when what stands above
// it, or its first row, says that it is the listing; from then on every row must be what the server would
// write.
type parser struct {
	u site.URL
	Listing
	row
	attrs struct {
		href, id, summary, datetime, bytes []byte
		hasHref                            bool
	}

	head     heading
	caddy    bool // the title or heading is caddy's
	headings int
	capture  []byte // title or heading being read
	captures bool
	fresh    bool // nothing but rules since a heading that matched

	region     regionKind
	claimed    bool
	inLink     bool
	parent     bool // the link to the parent was there
	needParent bool
	tableID    string
	cols       columns
	iis        []string // dates as written, by entry

	done, failed bool
}

// parseHTML returns nil when the page is no listing.
func parseHTML(raw []byte, u site.URL) *Listing {
	if !mayBeListing(raw) {
		return nil
	}
	p := &parser{u: u}
	z := html.NewTokenizer(bytes.NewReader(raw))
	skip := false // inside script or style
	for !p.failed && len(p.Entries) < MaxEntries {
		switch z.Next() {
		case html.ErrorToken:
			p.endRegion(false)
			return p.result()
		case html.TextToken:
			if !skip {
				p.text(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := atom.Lookup(name)
			p.readAttrs(z, tag, more)
			skip = tag == atom.Script || tag == atom.Style
			p.start(tag)
		case html.EndTagToken:
			name, _ := z.TagName()
			skip = false
			p.end(atom.Lookup(name))
		}
	}
	if !p.failed {
		p.endRegion(false)
	}
	return p.result()
}

// mayBeListing is a quick look for words without which no page is a listing: most pages need no more than
// this.
func mayBeListing(raw []byte) bool {
	for _, words := range []string{"Index of /", "Directory listing for /", " - /", "?C=N", "sort=name"} {
		if bytes.Contains(raw, []byte(words)) {
			return true
		}
	}
	return false
}

func (p *parser) result() *Listing {
	if p.failed || !p.done {
		return nil
	}
	if p.Server == IIS {
		readDates(p.Entries, p.iis)
	}
	return &p.Listing
}

// readAttrs keeps the attributes that matter of the tag.
func (p *parser) readAttrs(z *html.Tokenizer, tag atom.Atom, more bool) {
	a := &p.attrs
	a.href, a.id, a.summary, a.datetime, a.bytes = a.href[:0], a.id[:0], a.summary[:0], a.datetime[:0],
		a.bytes[:0]
	a.hasHref = false
	switch tag {
	case atom.A, atom.Base, atom.Table, atom.Td, atom.Th, atom.Time:
	default:
		return
	}
	var key, value []byte
	for more {
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			if !a.hasHref {
				a.href, a.hasHref = append(a.href, value...), true
			}
		case "id":
			a.id = append(a.id[:0], value...)
		case "summary":
			a.summary = append(a.summary[:0], value...)
		case "datetime":
			a.datetime = append(a.datetime[:0], value...)
		case "data-order", "data-size":
			a.bytes = append(a.bytes[:0], value...)
		}
	}
}

func (p *parser) start(tag atom.Atom) {
	switch tag {
	case atom.Title, atom.H1, atom.H2:
		p.fresh = false
		if p.region == regionNone && !p.done && p.headings < maxHeading {
			p.headings++
			p.captures, p.capture = true, p.capture[:0]
		}
		return
	case atom.Base:
		p.failed = p.failed || p.attrs.hasHref
		return
	case atom.Pre, atom.Table, atom.Ul:
		p.startRegion(tag)
		return
	}
	if p.region == regionNone {
		p.fresh = p.fresh && tag == atom.Hr
		return
	}
	switch tag {
	case atom.Tr, atom.Li:
		p.endRow()
	case atom.Br, atom.Hr:
		if p.region == regionPre {
			p.endRow()
		}
	case atom.Td, atom.Th:
		p.inLink = false
		c := p.addCell()
		c.bytes = append(c.bytes, p.attrs.bytes...)
		p.header = p.header || tag == atom.Th
	case atom.Time:
		if p.inCell() {
			c := p.lastCell()
			c.datetime = append(c.datetime[:0], p.attrs.datetime...)
		}
	case atom.Img:
		p.image = true
		if p.inLink {
			p.links[len(p.links)-1].image = true
		}
	case atom.A:
		p.inLink = p.attrs.hasHref && p.inCell() && p.addLink(p.attrs.href)
	}
}

func (p *parser) end(tag atom.Atom) {
	switch tag {
	case atom.Title, atom.H1, atom.H2:
		p.endHeading()
	case atom.A:
		if p.inLink && p.region != regionTable && len(p.cells) == 1 && !p.links[len(p.links)-1].icon() {
			p.addCell() // what follows stands after the name
		}
		p.inLink = false
	case atom.Tr, atom.Li:
		p.endRow()
	case atom.Pre, atom.Table, atom.Ul:
		p.endRegion(true)
	}
}

func (p *parser) endHeading() {
	if !p.captures {
		return
	}
	p.captures = false
	text := string(p.capture)
	switch h := readHeading(text, p.u); h {
	case headNone:
	case headOther:
		p.failed = true
	default:
		p.head, p.fresh = h, true
	}
	p.caddy = p.caddy || caddyHeading(text, p.u)
}

func (p *parser) text(b []byte) {
	switch {
	case p.captures:
		if len(p.capture)+len(b) <= maxText {
			p.capture = append(p.capture, b...)
		}
	case p.region == regionNone:
		p.fresh = p.fresh && len(bytes.TrimSpace(b)) == 0
	case p.inLink:
		l := &p.links[len(p.links)-1]
		l.text = p.add(l.text, b)
	case p.region == regionPre:
		for {
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				break
			}
			p.cellText(b[:i])
			p.endRow()
			b = b[i+1:]
		}
		p.cellText(b)
	default:
		p.cellText(b)
	}
}

func (p *parser) cellText(b []byte) {
	if len(b) > 0 && p.inCell() {
		c := p.lastCell()
		c.text = p.add(c.text, b)
	}
}

// inCell reports whether text belongs to the row: in a table, only text in a cell does.
func (p *parser) inCell() bool { return p.region != regionTable || len(p.cells) > 0 }

func (p *parser) startRegion(tag atom.Atom) {
	if p.claimed {
		p.failed = true // a listing holds no other
		return
	}
	p.reset()
	p.inLink, p.captures = false, false
	p.tableID = ""
	switch tag {
	case atom.Pre:
		p.region = regionPre
	case atom.Table:
		p.region = regionTable
		p.tableID = string(p.attrs.id)
		if bytes.EqualFold(p.attrs.summary, []byte("Directory Listing")) {
			p.tableID = Lighttpd
		}
	default:
		p.region = regionList
		if p.fresh && (p.head == headIndexOf || p.head == headDirectory) {
			server := Apache
			if p.head == headDirectory {
				server = Python
			}
			p.claim(server)
		} else {
			p.region = regionNone
		}
	}
}

// endRegion ends the region, closed by its tag or by the end of the page.
func (p *parser) endRegion(closed bool) {
	if p.region == regionNone {
		return
	}
	if closed {
		p.endRow()
	}
	p.reset() // a row that the page's end cuts off may show half of a number
	p.region, p.fresh = regionNone, false
	if !p.claimed || p.failed {
		return
	}
	p.claimed = false
	if p.needParent && !p.parent {
		p.failed = true
		return
	}
	p.done, p.Complete = true, closed
}
