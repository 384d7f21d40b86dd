// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strings"

	"mirrord/site"
)

// columns says where a table has what; -1 where it has not. In <pre>, time and size are 1 when they are
// there.
type columns struct{ name, time, size int }

// claim makes the region the page's listing.
func (p *parser) claim(server string) {
	if p.done {
		p.failed = true // two listings
		return
	}
	p.claimed, p.Server = true, server
}

// endRow takes the row that has been read.
func (p *parser) endRow() {
	r := &p.row
	defer func() { p.row = row{} }()
	p.inLink = false
	if p.failed || p.region == regionNone || r.blank() {
		return
	}
	if !p.claimed {
		header := false
		switch p.region {
		case regionPre:
			header = p.claimPre()
		case regionTable:
			header = p.claimTable()
		}
		if !p.claimed {
			p.region = regionNone // something else: its rows do not matter
			return
		}
		if header || p.failed {
			return
		}
	}
	if r.over {
		p.failed = true
		return
	}
	p.entry()
}

// claimPre judges a <pre> by its first row, and reports whether that is Apache's row of column titles.
func (p *parser) claimPre() bool {
	r := &p.row
	title, sorts := "", false
	for i := range r.cells {
		title += r.cells[i].text + " "
	}
	for i := range r.links {
		apache, _ := isSortLink(r.links[i].href)
		if !apache {
			sorts = false
			break
		}
		sorts = true
		title += r.links[i].text + " "
	}
	if strings.Contains(title, "Name") && (sorts || len(r.links) == 0) && (p.head == headIndexOf || sorts) {
		p.cols = columns{name: 0, time: -1, size: -1}
		if strings.Contains(title, "Last modified") {
			p.cols.time = 1
		}
		if strings.Contains(title, "Size") {
			p.cols.size = 1
		}
		p.needParent = p.head != headIndexOf
		p.claim(Apache)
		return true
	}
	switch {
	case p.fresh && p.head == headIndexOf:
		p.claim(Nginx)
		p.needParent = true
	case p.fresh && p.head == headIIS:
		p.claim(IIS)
	}
	return false
}

// claimTable judges a table by its first row, and reports whether that is a row of column titles.
func (p *parser) claimTable() bool {
	r := &p.row
	apache, caddy := false, false
	for i := range r.links {
		a, c := isSortLink(r.links[i].href)
		if !a && !c {
			return false
		}
		apache, caddy = apache || a, caddy || c
	}
	cols, modified := readTitles(r)
	if !r.header || cols.name < 0 || (cols.time < 0 && cols.size < 0 && !modified) {
		return false
	}
	server := Other
	switch {
	case caddy:
		server = Caddy
	case p.tableID == "list":
		server = FancyIndex
	case p.tableID == Lighttpd:
		server = Lighttpd
	case apache || modified:
		server = Apache
	}
	switch {
	case p.head == headIndexOf:
	case server == Caddy && p.caddy:
	case apache:
		p.needParent = true
	default:
		return false
	}
	p.cols = cols
	p.claim(server)
	return true
}

// readTitles finds the columns by their titles; apache says that these are Apache's.
func readTitles(r *row) (cols columns, apache bool) {
	cols = columns{-1, -1, -1}
	for i := range r.cells {
		title := r.cells[i].text
		for j := range r.links {
			if r.links[j].cell == i {
				title += r.links[j].text
			}
		}
		title = strings.ToLower(strings.TrimFunc(title, func(c rune) bool {
			return (c|0x20) < 'a' || (c|0x20) > 'z'
		}))
		switch title {
		case "name", "file name", "filename":
			setOnce(&cols.name, i)
		case "last modified", "date", "modified", "date modified", "last change", "time":
			setOnce(&cols.time, i)
			apache = apache || (title == "last modified" && r.links == nil)
		case "size", "file size", "filesize":
			setOnce(&cols.size, i)
		case "description":
			apache = true
		}
	}
	return cols, apache
}

func setOnce(at *int, i int) {
	if *at < 0 {
		*at = i
	}
}

// entry takes a row of the claimed region: the parent, or an entry.
func (p *parser) entry() {
	name := p.nameLink()
	if name == nil {
		p.failed = true
		return
	}
	label := name.text
	abs, fragment, err := p.u.Resolve(name.href)
	if err != nil || fragment != "" {
		p.failed = true
		return
	}
	e := Entry{
		URL:     abs,
		Size:    -1,
		SizeMin: -1,
		SizeMax: -1,
	}
	isChild := false
	e.Name, e.Dir, isChild = child(p.u, abs)
	switch {
	case isChild && isName(label, e.Name) && !p.secondChild(name) && p.columns(&e):
		p.Entries = append(p.Entries, e)
	case !isChild && len(p.Entries) == 0 && (isParentLabel(label) || p.isParent(abs)):
		p.parent = true
	default:
		p.failed = true
	}
}

// secondChild reports whether another link of the row, in a description, may be an entry too. It may: where
// markup in a description is cut short, the next row runs into this one.
func (p *parser) secondChild(name *link) bool {
	for i := range p.links {
		l := &p.links[i]
		if l == name || l.href == name.href {
			continue
		}
		abs, _, err := p.u.Resolve(l.href)
		if err != nil {
			continue
		}
		if _, _, ok := child(p.u, abs); ok {
			return true
		}
	}
	return false
}

// isParent reports whether abs is the directory above the page, or the page itself if it is the root.
func (p *parser) isParent(abs site.URL) bool {
	dir := strings.TrimSuffix(p.u.Dir(), "/")
	return (abs.Origin() == p.u.Origin() && abs.RequestURI() == dir[:strings.LastIndexByte(dir, '/')+1]) ||
		(dir == "" && abs == p.u)
}

// nameLink returns the link that is the row's name: the first, but for one around an icon, which has the same
// target.
func (p *parser) nameLink() *link {
	r := &p.row
	for i := range r.links {
		l := &r.links[i]
		if p.region == regionTable && l.cell != p.cols.name {
			continue
		}
		if !l.icon() {
			return l
		}
		if i+1 < len(r.links) && l.href != r.links[i+1].href {
			return nil
		}
	}
	return nil
}

// columns reads what the row says beside the name. It reports false for what the server would not write.
func (p *parser) columns(e *Entry) bool {
	r := &p.row
	before, after := trim(r.cells[0].text), ""
	if len(r.cells) > 1 {
		after = r.cells[1].text
	}
	switch {
	case p.region == regionTable:
		return p.tableColumns(e)
	case p.region == regionList:
		return before == "" && trim(after) == "" && len(r.links) == 1
	case p.Server == Nginx:
		if before != "" || len(r.links) != 1 || r.image {
			return false
		}
		st, rest, ok := parseStamp(strings.TrimLeft(after, " "))
		if !ok || first(rest) != ' ' {
			return false
		}
		e.setTime(st)
		rest = trim(rest)
		z, ok := parseSize(rest)
		if !ok && rest != "-" {
			return false
		}
		e.setSize(z)
		return true
	case p.Server == IIS:
		return p.iisColumns(e, before, trim(after))
	}
	rest := strings.TrimLeft(after, " ")
	if p.cols.time > 0 {
		if st, after, ok := parseStamp(rest); ok {
			e.setTime(st)
			rest = after
		}
	}
	if p.cols.size > 0 {
		word, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if z, ok := parseSize(trim(word)); ok {
			e.setSize(z)
		}
	}
	return before == ""
}

func (p *parser) tableColumns(e *Entry) bool {
	r := &p.row
	if beside := trim(r.cells[p.cols.name].text); beside != "" && beside != "/" {
		return false
	}
	if i := p.cols.time; i >= 0 && i < len(r.cells) {
		if st, ok := parseExactStamp(r.cells[i].datetime); ok {
			e.setTime(st)
		} else if st, rest, ok := parseStamp(trim(r.cells[i].text)); ok && rest == "" {
			e.setTime(st)
		}
	}
	if i := p.cols.size; i >= 0 && i < len(r.cells) {
		if z, ok := parseSize(r.cells[i].bytes); ok && z.exact {
			e.setSize(z)
		} else if z, ok := parseSize(trim(r.cells[i].text)); ok {
			e.setSize(z)
		}
	}
	return true
}

func (e *Entry) setTime(st stamp) { e.Modified, e.Precision, e.Local = st.t, st.precision, st.local }

// setSize sets the size of a file. That of a directory says nothing.
func (e *Entry) setSize(z size) {
	if !e.Dir {
		e.Size, e.SizeMin, e.SizeMax, e.SizeExact = z.value, z.min, z.max, z.exact
	}
}
