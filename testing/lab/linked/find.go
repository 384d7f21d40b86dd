// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/count"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/site"
)

// LinkedReplicas is what Find found.
type LinkedReplicas struct {
	Pages    int          `json:"pages"`
	Skipped  int          `json:"skipped"`  // files that are no pages
	Bad      int          `json:"bad"`      // files that could not be read
	Links    int          `json:"links"`    // between pages
	Dangling int          `json:"dangling"` // of these, which lead nowhere as they are written
	Found    int          `json:"found"`    // clusters, of which Clusters has the first
	Clusters []Replicated `json:"clusters"`
}

// Replicated is a collection that was found along links, those with the most copies first.
type Replicated struct {
	Factor  int      `json:"factor"` // copies
	Size    int      `json:"size"`   // pages of the largest copy, with those of others that it links to
	Root    string   `json:"root"`   // the page from which it was grown, and its copies
	Foreign int      `json:"foreign_links"`
	Copies  []CopyAt `json:"copies"`
}

// CopyAt is a copy of such a collection.
type CopyAt struct {
	At     string `json:"at"`
	Pages  int    `json:"pages"`
	Shared int    `json:"shared"` // pages of other copies that its own ones link to
}

// resemblance is what pages of a trivial cluster resemble one another by, and leastPages how many a copy must
// have: fewer are noise.
const (
	resemblance = 0.8
	leastPages  = 10
)

// Find finds collections as Cho, Shivakumar and Garcia-Molina do: pages that are the same are trivial
// clusters, and these grow along links, also to copies that lack a part (extended clusters), and whose links
// lead to what they lack (dangling links). Every page is read, and all links are held in memory.
func Find(ctx context.Context, a *env.App, dirs []string, limit int) (_ *LinkedReplicas, err error) {
	root, err := regular.OpenRoot(os.TempDir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f := collections.NewFinder(&files.FileSpill{Root: root.Root}, collections.FinderOptions{
		FindOptions: collections.FindOptions{Group: collections.GroupOptions{Resemblance: resemblance}},
		Progress:    func(string, int, int) error { return ctx.Err() },
	})
	defer func() { err = errors.Join(err, f.Close()) }()
	var b GraphBuilder
	var l reader
	sketcher := text.NewSketcher(text.SketchOptions{})
	out := &LinkedReplicas{Clusters: []Replicated{}}
	read := pages{app: a, take: func(p *readPage) error {
		out.Pages++
		if !p.HTML {
			b.Add(p.At, nil)
			return f.Add(p.At, sketcher.Plain(p.Body))
		}
		b.Add(p.At, l.scan(p))
		return f.Add(p.At, sketcher.HTML(p.Body))
	}}
	err = read.each(ctx, dirs)
	out.Skipped, out.Bad = read.skipped, read.bad
	if err != nil {
		return nil, err
	}
	g, _, err := f.Find()
	if err != nil {
		return nil, err
	}
	w, dangling := b.Web(g.Sets)
	out.Dangling = dangling
	for _, links := range w.Links {
		out.Links += len(links)
	}
	all := w.Collections(g.Sets, Growing{Extended: true, SkipBoilerplate: true}, leastPages)
	out.Found = len(all)
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	for _, c := range all {
		r := Replicated{
			Factor:  len(c.Copies),
			Size:    c.Size,
			Root:    c.Root.String(),
			Foreign: c.Foreign,
		}
		for _, cp := range c.Copies {
			r.Copies = append(r.Copies, CopyAt{cp.At.String(), cp.Own, cp.Virtual})
		}
		out.Clusters = append(out.Clusters, r)
	}
	return out, nil
}

// WriteText writes what was found for a person.
func (f *LinkedReplicas) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s with %s, of which %s nowhere as they are written; %s, %d could not be read\n",
		count.Of(f.Pages, "page"), count.Of(f.Links, "link"), count.Of(f.Dangling, "leads", "lead"),
		count.Of(f.Skipped, "file is no page", "files are not pages"), f.Bad)
	fmt.Fprintf(w, "\n%s\n", count.Of(f.Found, "collection in several places",
		"collections in several places, what has the most copies first"))
	for i, c := range f.Clusters {
		fmt.Fprintf(w, "%3d  factor %d, %s, grown from %s, to which other hosts link %s\n", i+1, c.Factor,
			count.Of(c.Size, "page"), c.Root, count.Of(c.Foreign, "time"))
		for _, cp := range c.Copies {
			shared := ""
			if cp.Shared > 0 {
				shared = ", " + count.Of(cp.Shared, "page of another copy is linked",
					"pages of other copies are linked")
			}
			fmt.Fprintf(w, "     %6d  %s%s\n", cp.Pages, cp.At, shared)
		}
	}
}

// reader reads the links of pages.
type reader struct {
	doc  relocate.Doc
	tree fs.FS             // whose table is in urls
	urls map[string]string // by mirror path
}

// inTree is the host that the links of a published tree lead to when they stay within it.
const inTree = "http://tree.invalid/"

// scan collects where the links and frames of a page lead. A page whose address is not valid has no links.
// In a published tree links name files, whose URLs its table has.
func (l *reader) scan(p *readPage) (refs []Ref) {
	own := p.URL
	base := inTree + (&url.URL{Path: p.Name}).EscapedPath()
	if own == "" {
		own = "http://" + p.At.Host + p.At.Path
		base = own
	} else {
		l.openTable(p.FS)
	}
	u, _, err := site.Parse(base)
	if err != nil {
		return nil
	}
	if err := l.doc.Scan(p.Body, relocate.Input{URL: u, Format: relocate.HTML, NoScripts: true}); err != nil {
		return nil
	}
	for _, link := range l.doc.Links {
		if (link.Kind != relocate.Hyperlink && link.Kind != relocate.Frame) || link.URL == nil {
			continue
		}
		to := l.target(string(link.URL))
		host, path, err := hosts.SplitURL([]byte(to))
		if err != nil {
			continue
		}
		written := []byte(to)
		if string(host) == p.At.Host {
			written = relocate.Relative(nil, own, to)
		}
		place := collections.Address{Host: string(host), Path: string(path)}
		refs = append(refs, NewRef(place, written))
	}
	return refs
}

// openTable reads which URLs the files of a tree have.
func (l *reader) openTable(fsys fs.FS) {
	if l.tree == fsys {
		return
	}
	l.tree, l.urls = fsys, map[string]string{}
	table, err := fsys.Open(phm.FilesName)
	if err != nil {
		return // it was read a moment ago; without it the links of this tree are not known
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err == nil {
			l.urls[f.Path] = f.URL
		}
	}
}

// target is the URL of a link, which may name a file of the tree.
func (l *reader) target(to string) string {
	name, ok := strings.CutPrefix(to, inTree)
	if !ok {
		return to
	}
	if path, err := url.PathUnescape(name); err == nil && l.urls[path] != "" {
		return l.urls[path]
	}
	return to
}
