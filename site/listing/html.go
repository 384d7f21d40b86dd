// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"bytes"
	"slices"
	"strings"

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
	href, text string
	cell       int
	image      bool // holds an <img>
}

// icon reports whether the link is around an icon only.
func (l *link) icon() bool { return l.image && trim(l.text) == "" }

// A cell is a table cell; in <pre> and <li> the text before the link is the first, that after it the second.
type cell struct {
	text     string // outside links
	datetime string // of <time>
	bytes    string // data-order, data-size
}

// A row collects the parts of one line, table row or list item.
type row struct {
	cells  []cell
	links  []link
	image  bool
	header bool // has a <th>
	over   bool // a bound was hit
}

func (r *row) blank() bool {
	return len(r.links) == 0 && !r.over &&
		!slices.ContainsFunc(r.cells, func(c cell) bool { return trim(c.text) != "" })
}

func (r *row) addCell() *cell {
	if len(r.cells) == maxCells {
		r.over = true
	} else {
		r.cells = append(r.cells, cell{})
	}
	return &r.cells[len(r.cells)-1]
}

// lastCell returns the cell that is being read.
func (r *row) lastCell() *cell {
	if len(r.cells) == 0 {
		return r.addCell()
	}
	return &r.cells[len(r.cells)-1]
}

func (r *row) addLink(href string) bool {
	if len(r.links) == maxLinks {
		r.over = true
		return false
	}
	r.lastCell()
	r.links = append(r.links, link{href: href, cell: len(r.cells) - 1})
	return true
}

func (r *row) add(to *string, text string) {
	if len(*to)+len(text) > maxText {
		r.over = true
	} else {
		*to += text
	}
}

// parser reads an HTML page from tag to tag. A region (pre, table, list) is claimed when what stands above
// it, or its first row, says that it is the listing; from then on every row must be what the server would
// write.
type parser struct {
	u site.URL
	Listing
	row

	head     heading
	caddy    bool // the title or heading is caddy's
	headings int
	capture  string // title or heading being read
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
		z.Next()
		switch t := z.Token(); t.Type {
		case html.ErrorToken:
			p.endRegion(false)
			return p.result()
		case html.TextToken:
			if !skip {
				p.text(t.Data)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			skip = t.DataAtom == atom.Script || t.DataAtom == atom.Style
			p.start(t)
		case html.EndTagToken:
			skip = false
			p.end(t.DataAtom)
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

// attribute returns the first value of the attributes of these names, and whether there is one.
func attribute(t html.Token, names ...string) (string, bool) {
	i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return slices.Contains(names, a.Key) })
	if i < 0 {
		return "", false
	}
	return t.Attr[i].Val, true
}

func (p *parser) start(t html.Token) {
	tag := t.DataAtom
	switch tag {
	case atom.Title, atom.H1, atom.H2:
		p.fresh = false
		if p.region == regionNone && !p.done && p.headings < maxHeading {
			p.headings++
			p.captures, p.capture = true, ""
		}
		return
	case atom.Base:
		_, has := attribute(t, "href")
		p.failed = p.failed || has
		return
	case atom.Pre, atom.Table, atom.Ul:
		p.startRegion(t)
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
		p.addCell().bytes, _ = attribute(t, "data-order", "data-size")
		p.header = p.header || tag == atom.Th
	case atom.Time:
		if p.inCell() {
			p.lastCell().datetime, _ = attribute(t, "datetime")
		}
	case atom.Img:
		p.image = true
		if p.inLink {
			p.links[len(p.links)-1].image = true
		}
	case atom.A:
		href, has := attribute(t, "href")
		p.inLink = has && p.inCell() && p.addLink(href)
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
	switch h := readHeading(p.capture, p.u); h {
	case headNone:
	case headOther:
		p.failed = true
	default:
		p.head, p.fresh = h, true
	}
	p.caddy = p.caddy || caddyHeading(p.capture, p.u)
}

func (p *parser) text(s string) {
	switch {
	case p.captures:
		if len(p.capture)+len(s) <= maxText {
			p.capture += s
		}
	case p.region == regionNone:
		p.fresh = p.fresh && strings.TrimSpace(s) == ""
	case p.inLink:
		p.add(&p.links[len(p.links)-1].text, s)
	case p.region == regionPre:
		for line := range strings.Lines(s) {
			text, ends := strings.CutSuffix(line, "\n")
			if p.cellText(text); ends {
				p.endRow()
			}
		}
	default:
		p.cellText(s)
	}
}

func (p *parser) cellText(s string) {
	if s != "" && p.inCell() {
		p.add(&p.lastCell().text, s)
	}
}

// inCell reports whether text belongs to the row: in a table, only text in a cell does.
func (p *parser) inCell() bool { return p.region != regionTable || len(p.cells) > 0 }

func (p *parser) startRegion(t html.Token) {
	if p.claimed {
		p.failed = true // a listing holds no other
		return
	}
	p.row = row{}
	p.inLink, p.captures = false, false
	p.tableID = ""
	switch t.DataAtom {
	case atom.Pre:
		p.region = regionPre
	case atom.Table:
		p.region = regionTable
		p.tableID, _ = attribute(t, "id")
		if summary, _ := attribute(t, "summary"); strings.EqualFold(summary, "Directory Listing") {
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
	p.row = row{} // a row that the page's end cuts off may show half of a number
	p.region, p.fresh = regionNone, false
	if !p.claimed || p.failed {
		return
	}
	p.claimed = false
	if p.needParent && !p.parent {
		p.failed = true
		return
	}
	p.done = true
}
