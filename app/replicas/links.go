// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/site"
)

// LinkedReplicas is what FindLinked found.
type LinkedReplicas struct {
	Pages    int                `json:"pages"`
	Skipped  int                `json:"skipped"`  // files that are no pages
	Bad      int                `json:"bad"`      // files that could not be read
	Links    int                `json:"links"`    // between pages
	Dangling int                `json:"dangling"` // of these, which lead nowhere as they are written
	Found    int                `json:"found"`    // clusters, of which Clusters has the first
	Clusters []LinkedCollection `json:"clusters"`
}

// LinkedCollection is a collection that was found along links, those with the most copies first.
type LinkedCollection struct {
	Factor  int           `json:"factor"` // copies
	Size    int           `json:"size"`   // pages of the largest copy, with those of others that it links to
	Root    string        `json:"root"`   // the page from which it was grown, and its copies
	Foreign int           `json:"foreign_links"`
	Copies  []CopyByLinks `json:"copies"`
}

// CopyByLinks is a copy of such a collection.
type CopyByLinks struct {
	At     string `json:"at"`
	Pages  int    `json:"pages"`
	Shared int    `json:"shared"` // pages of other copies that its own ones link to
}

// linkedResemblance is what pages of a trivial cluster resemble one another by, and linkedPages how many a
// copy must have: fewer are noise.
const (
	linkedResemblance = 0.8
	linkedPages       = 10
)

// FindLinked finds collections as Cho, Shivakumar and Garcia-Molina do: pages that are the same are trivial
// clusters, and these grow along links, also to copies that lack a part (extended clusters), and whose links
// lead to what they lack (dangling links). Every page is read.
func FindLinked(
	ctx context.Context, a *env.App, dirs []string, o ReplicaOptions,
) (_ *LinkedReplicas, err error) {
	r := &replicaPages{note: a.Progress}
	defer func() { err = errors.Join(err, r.close()) }()
	r.warn = func(s string) {
		if r.bad <= maxBadShown {
			a.Warning(s)
		}
	}
	room, err := openReplicaTrees(a, r, dirs)
	if err != nil {
		return nil, err
	}
	root, err := regular.OpenRoot(room)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	memory := cmp.Or(o.Memory, 1<<30) / 2
	f := collections.NewFinder(&files.FileSpill{Root: root.Root}, collections.FinderOptions{
		FindOptions: collections.FindOptions{Group: collections.GroupOptions{Resemblance: linkedResemblance}},
		Memory:      memory,
		Progress: func(phase string, n, of int) error {
			a.Progress(fmt.Sprintf("%d pages read; %s: %d of %d", r.pages, phase, n, of))
			return ctx.Err()
		},
	})
	defer func() { err = errors.Join(err, f.Close()) }()
	b := collections.NewLinkBuilder(&files.FileSpill{Root: root.Root}, collections.LinkOptions{
		Memory: memory,
		Tick:   func(int) error { return ctx.Err() },
	})
	defer func() { err = errors.Join(err, b.Close()) }()
	l := linkReader{
		pages:    r,
		sketcher: text.NewSketcher(text.SketchOptions{}),
		finder:   f,
		links:    b,
	}
	r.take = l.take
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	g, err := f.Group()
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	a.Progress("following links")
	w, err := b.Web(g.Sets, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	found, err := w.Linked(g.Sets, collections.Growing{Extended: true, SkipBoilerplate: true}, linkedPages)
	if err != nil {
		return nil, err
	}
	out := &LinkedReplicas{
		Pages:    r.pages,
		Skipped:  r.skipped,
		Bad:      r.bad,
		Links:    w.Links,
		Dangling: w.Dangling,
		Found:    len(found),
		Clusters: []LinkedCollection{},
	}
	for i := range found[:shown(len(found), o.Limit)] {
		out.Clusters = append(out.Clusters, linkedOf(&found[i]))
	}
	return out, nil
}

func linkedOf(c *collections.LinkedCluster) LinkedCollection {
	out := LinkedCollection{
		Factor:  c.Factor(),
		Size:    c.Size,
		Root:    c.Root.String(),
		Foreign: c.Foreign,
	}
	for _, cp := range c.Copies {
		out.Copies = append(out.Copies, CopyByLinks{cp.String(), cp.Own, cp.Virtual})
	}
	return out
}

// linkReader reads the words and links of pages.
type linkReader struct {
	pages    *replicaPages
	sketcher *text.Sketcher
	finder   *collections.Finder
	links    *collections.LinkBuilder
	doc      relocate.Doc
	refs     []collections.PageRef

	tree fs.FS             // whose table is in urls
	urls map[string]string // by mirror path
}

func (l *linkReader) take(at collections.Address, file replicaFile) error {
	r := l.pages
	body, err := file.read()
	switch {
	case err != nil:
		r.bad++
		r.warn(err.Error())
		return nil
	case !file.isPage(body):
		r.skipped++
		return nil
	}
	if r.pages++; r.pages%1000 == 0 {
		r.note(fmt.Sprintf("%d pages read", r.pages))
	}
	l.refs = l.refs[:0]
	if !file.html {
		return errors.Join(l.links.Add(at, nil), l.finder.Add(at, l.sketcher.Plain(body)))
	}
	l.scan(at, file, body)
	return errors.Join(l.links.Add(at, l.refs), l.finder.Add(at, l.sketcher.HTML(body)))
}

// inTree is the host that the links of a published tree lead to when they stay within it.
const inTree = "http://tree.invalid/"

// scan collects where the links and frames of a page lead. A page whose address is not valid has no links.
// In a published tree links name files, whose URLs its table has.
func (l *linkReader) scan(at collections.Address, file replicaFile, body []byte) {
	own := file.url
	base := inTree + (&url.URL{Path: file.name}).EscapedPath()
	if own == "" {
		own = "http://" + at.Host + at.Path
		base = own
	} else {
		l.openTable(file.fsys)
	}
	u, _, err := site.Parse(base)
	if err != nil {
		return
	}
	if err := l.doc.Scan(body, relocate.Input{URL: u, Format: relocate.HTML, NoScripts: true}); err != nil {
		return
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
		if string(host) == at.Host {
			written = relocate.Relative(nil, own, to)
		}
		place := collections.Address{Host: string(host), Path: string(path)}
		l.refs = append(l.refs, collections.NewPageRef(place, written))
	}
}

// openTable reads which URLs the files of a tree have.
func (l *linkReader) openTable(fsys fs.FS) {
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
func (l *linkReader) target(to string) string {
	name, ok := strings.CutPrefix(to, inTree)
	if !ok {
		return to
	}
	if path, err := url.PathUnescape(name); err == nil && l.urls[path] != "" {
		return l.urls[path]
	}
	return to
}
