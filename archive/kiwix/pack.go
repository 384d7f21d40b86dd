// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"image"
	"io/fs"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/archive/zim"
	"mirrord/internal/charset"
	"mirrord/internal/inorder"
	"mirrord/phm"
)

const (
	unknownType = "application/octet-stream"
	plainType   = "text/plain"
	htmlType    = "text/html"
	pngType     = "image/png"
	jsonType    = "application/json"
	tableType   = "application/jsonl"

	inMemory  = 8 << 20  // bytes of a file up to which it is packed by way of memory
	maxPage   = 64 << 20 // the same of a page; the links of larger ones stay as they are
	together  = 2 << 20  // bytes of files that share a cluster
	mostFiles = 2048     // in a cluster
	onTheWay  = 16 << 20 // bytes of files that are packed on their way
	mostTypes = 1000     // that are named; a hostile site could send one for each file
)

// Options are the choices of Pack.
type Options struct {
	Name string       // of the set, for people's collections
	Crew inorder.Crew // works beside the caller; the tree must be safe for concurrent use then

	Redirects []Redirect // those of the site, in an order that is always the same

	together int64 // bytes of files that share a cluster; 0 is 2 MiB
}

// A Redirect is an address without a file that redirects to one. Both are mirror paths.
type Redirect struct{ Path, Target string }

// Pack writes a PHM as a ZIM file. Every file is checked against the table while it is read. fsys yields the
// files in the order of the table.
func Pack(f zim.File, fsys fs.FS, o Options) (*phm.Meta, error) {
	p := &packer{
		fsys:  fsys,
		types: map[string]bool{},
		paths: map[uint64]struct{}{},

		together: cmp.Or(o.together, together),
	}
	m, err := p.pack(f, o)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// packer packs the files of a tree.
type packer struct {
	fsys  fs.FS
	zim   *zim.Writer
	types map[string]bool     // that are named in the file
	paths map[uint64]struct{} // hashes of all mirror paths
	again againFinder
	icon  iconFinder

	fixers []linkFixer // by worker
	lane   *inorder.Lane[made]
	open   map[bool]*group // by whether it is not compressed

	together int64 // see Options
}

// group is files that share a cluster, and those of one sort: compressed or not.
type group struct {
	files []grouped
	size  int64
	came  map[[16]byte]bool // digests of the files of the sort that may come again, and came
}

// grouped is a file of a group; again says that another one of the sort with its bytes came before.
type grouped struct {
	*phm.File
	same  [16]byte
	again bool
}

// made is what a worker made of files.
type made struct {
	cluster *zim.OpenCluster
	icon    image.Image // that one of them is, if it was looked for
}

func (p *packer) pack(f zim.File, o Options) (*phm.Meta, error) {
	m, err := p.copy(o.Crew, func(m *phm.Meta) (err error) {
		p.icon.host = m.Primary
		p.again.settle()
		p.zim, err = zim.NewWriter(f, zim.Options{
			UUID:     uuidOf(m, o.Redirects),
			Types:    p.allTypes(),
			MainPage: m.Entry,
		})
		return err
	})
	if p.zim == nil {
		return nil, err
	}
	if err == nil {
		err = p.redirect(o.Redirects)
	}
	if err == nil {
		err = p.describe(m, o.Name)
	}
	if err == nil {
		err = p.zim.Close()
	}
	return m, err
}

// uuidOf names the set: equal sets give equal files.
func uuidOf(m *phm.Meta, redirects []Redirect) (id [16]byte) {
	of := fmt.Appendf(nil, "%s\n%d\n%s\n", m.Primary, m.Version, m.TableSum)
	for _, r := range redirects {
		of = fmt.Appendf(of, "%s\n%s\n", r.Path, r.Target)
	}
	sum := sha256.Sum256(of)
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // RFC 9562, version 8
	return id
}

// look notes of a line of the table what must be known before the first file.
func (p *packer) look(f *phm.File) {
	if t := cleanType(f.Type); len(p.types) < mostTypes {
		p.types[t] = true
	}
	p.paths[xxh3.HashString(f.Path)] = struct{}{}
	p.again.look(f)
	p.icon.look(f)
}

func (p *packer) exists(path []byte) bool {
	_, ok := p.paths[xxh3.Hash(path)]
	return ok
}

// cleanType is the type that a ZIM file has for one of a table.
func cleanType(t string) string {
	if t == "" || len(t) > 100 || strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return unknownType
	}
	return t
}

func (p *packer) allTypes() (out []string) {
	for _, t := range []string{unknownType, plainType, htmlType, pngType, jsonType, tableType} {
		p.types[t] = true
	}
	for t := range p.types {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// copy packs all files. begin makes the writer.
func (p *packer) copy(crew inorder.Crew, begin func(*phm.Meta) error) (*phm.Meta, error) {
	p.lane = inorder.New(crew, onTheWay, p.take)
	defer p.lane.Close()
	p.fixers = make([]linkFixer, p.lane.Workers())
	for i := range p.fixers {
		p.fixers[i].exists = p.exists
	}
	p.open = map[bool]*group{false: {came: map[[16]byte]bool{}}, true: {came: map[[16]byte]bool{}}}
	m, err := phm.Visit(p.fsys, phm.Visitor{
		Look:  p.look,
		Begin: begin,
		Own:   p.own,
		File:  p.file,
	})
	if err == nil {
		err = p.flush()
	}
	return m, err
}

// file packs a file. Those that lie in one cluster are read and compressed by one worker.
func (p *packer) file(f *phm.File) error {
	if f.Size > inMemory && (cleanType(f.Type) != htmlType || f.Size > maxPage) {
		if err := p.flush(); err != nil {
			return err
		}
		w, err := p.zim.Stream(p.entry(f), f.Size)
		if err != nil {
			return err
		}
		return phm.CopyFile(p.fsys, f, w)
	}
	plain := incompressible(f)
	g := p.open[plain]
	if len(g.files) > 0 && (g.size+f.Size > p.together || len(g.files) >= mostFiles) {
		if err := p.cluster(plain); err != nil {
			return err
		}
	}
	in := grouped{File: f, same: p.again.digest(f)}
	if in.same != [16]byte{} {
		in.again, g.came[in.same] = g.came[in.same], true
	}
	g.files, g.size = append(g.files, in), g.size+f.Size
	return nil
}

// cluster begins to pack the files of a group, if there are any.
func (p *packer) cluster(plain bool) error {
	g := p.open[plain]
	files, size := g.files, g.size
	if len(files) == 0 {
		return nil
	}
	g.files, g.size = nil, 0
	return p.lane.Add(size, func(worker int) (out made, err error) {
		out.cluster = p.zim.NewCluster(plain, int(size))
		for i := range files {
			if err := p.pack1(worker, &files[i], &out); err != nil {
				return made{}, err
			}
		}
		out.cluster.Pack()
		return out, nil
	})
}

// pack1 adds a file to a cluster.
func (p *packer) pack1(worker int, f *grouped, to *made) error {
	c := to.cluster
	body, err := phm.ReadFile(p.fsys, f.File, c.Room(int(f.Size)+1))
	if err != nil {
		return err
	}
	if icon := p.icon.read(f.File, body); icon != nil {
		to.icon = icon
	}
	file := p.prepare(worker, f.File, body)
	if f.same != [16]byte{} && !f.again {
		c.Hold(f.same, body) // also when it is shown as another one: in another directory its links may be right
	}
	if f.same != [16]byte{} && file.undo == nil {
		c.Share(file.entry, f.same)
		return nil
	}
	c.Add(file.entry, file.shown)
	if file.undo != nil {
		c.Add(undoing(f.Path), file.undo)
	}
	return nil
}

// flush packs the open clusters, and waits for all in progress.
func (p *packer) flush() error {
	for _, plain := range []bool{false, true} {
		if err := p.cluster(plain); err != nil {
			return err
		}
	}
	return p.lane.Flush()
}

// take adds what a worker made.
func (p *packer) take(m made, err error) error {
	if err != nil {
		return err
	}
	if m.icon != nil {
		p.icon.img = m.icon
	}
	return p.zim.Take(m.cluster)
}

// redirect adds redirects, but not at the path of a file or of another redirect.
func (p *packer) redirect(all []Redirect) error {
	for _, r := range all {
		if p.exists([]byte(r.Path)) || !p.exists([]byte(r.Target)) {
			continue
		}
		if err := p.zim.Redirect(zim.Entry{Namespace: zim.Content, Path: r.Path}, r.Target); err != nil {
			return err
		}
		p.paths[xxh3.HashString(r.Path)] = struct{}{}
	}
	return nil
}

// own packs a file of the set itself.
func (p *packer) own(f *phm.File) error {
	e := zim.Entry{Namespace: zim.Index, Path: kept + f.Path, Type: tableType}
	if f.Path == phm.MetaName {
		e.Type = jsonType
	}
	if f.Size > inMemory {
		if err := p.flush(); err != nil { // a stream follows the clusters before it
			return err
		}
		w, err := p.zim.Stream(e, f.Size)
		if err != nil {
			return err
		}
		return phm.CopyFile(p.fsys, f, w)
	}
	return p.lane.Add(f.Size, func(int) (made, error) {
		c := p.zim.NewCluster(false, int(f.Size))
		body, err := phm.ReadFile(p.fsys, f, c.Room(int(f.Size)+1))
		if err != nil {
			return made{}, err
		}
		c.Add(e, body)
		c.Pack()
		return made{cluster: c}, nil
	})
}

func incompressible(f *phm.File) bool { return !phm.Compressible(f.Type, f.Path) }

func (p *packer) entry(f *phm.File) zim.Entry {
	e := zim.Entry{
		Namespace: zim.Content,
		Path:      f.Path,
		Type:      cleanType(f.Type),
		Plain:     incompressible(f),
	}
	if !p.types[e.Type] {
		e.Type = unknownType
	}
	return e
}

// packed is a file that is ready to be added.
type packed struct {
	entry zim.Entry
	shown []byte
	undo  []byte // how it comes back of that, nil when it is shown as it is
}

// prepare makes an entry of a file. It runs in a worker, and what it returns is right until the worker's next
// call.
func (p *packer) prepare(worker int, f *phm.File, body []byte) packed {
	out := packed{entry: p.entry(f), shown: body}
	switch e := &out.entry; {
	case len(body) == 0:
		out.shown, out.undo = []byte("\n"), appendUndo(nil, 0, 1, nil)
	case e.Type == htmlType:
		e.Front, e.Title = true, titleOf(body)
		out.shown, out.undo = p.fixers[worker].fix(f, body)
	case (f.Type == "") && charset.IsText(body):
		e.Type = plainType
	}
	return out
}

// undoing is the entry that says how a file comes back.
func undoing(path string) zim.Entry {
	return zim.Entry{Namespace: zim.Index, Path: undone + path, Type: unknownType}
}
