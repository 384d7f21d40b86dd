// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/internal/charset"
	"mirrord/internal/inorder"
	"mirrord/phm"
	"mirrord/zim"
)

const (
	unknownType = "application/octet-stream"
	plainType   = "text/plain"
	htmlType    = "text/html"
	pngType     = "image/png"
	jsonType    = "application/json"
	tableType   = "application/jsonl"

	inMemory  = 8 << 20   // bytes of a file up to which it is packed by way of memory
	maxPage   = 64 << 20  // the same of a page; the links of larger ones stay as they are
	keepUpTo  = 256 << 10 // bytes of a buffer that is used again
	keepMost  = 64        // of them
	mostTypes = 1000      // that are named; a hostile site could send one for each file
)

// Options are the choices of Pack.
type Options struct {
	Name string       // of the set, for people's collections
	Crew inorder.Crew // works beside the caller; the tree must be safe for concurrent use then

	// Redirects returns those of the site, in an order that is always the same. It is called once the table is
	// read. Nil: there are none.
	Redirects func() ([]Redirect, error)
}

// A Redirect is an address without a file that leads to one. Both are mirror paths.
type Redirect struct{ Path, Target string }

// Pack writes a PHM as a ZIM file. Every file is checked against the table while it is read. fsys yields the
// files in the order of the table.
func Pack(f zim.File, fsys fs.FS, o Options) (*phm.Meta, error) {
	p := &packer{
		fsys:  fsys,
		types: map[string]bool{},
		paths: map[uint64]struct{}{},
		free:  make(chan []byte, keepMost),
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
	free   chan []byte
}

func (p *packer) pack(f zim.File, o Options) (*phm.Meta, error) {
	var redirects []Redirect
	m, err := p.copy(o.Crew, func(m *phm.Meta) (err error) {
		if o.Redirects != nil {
			if redirects, err = o.Redirects(); err != nil {
				return err
			}
		}
		p.icon.host = m.Primary
		p.again.settle()
		p.zim, err = zim.NewWriter(f, zim.Options{
			UUID:     uuidOf(m, redirects),
			Types:    p.allTypes(),
			MainPage: m.Entry,
			Go:       o.Crew.Go,
		})
		return err
	})
	if p.zim == nil {
		return nil, err
	}
	if err == nil {
		err = p.redirect(redirects)
	}
	if err == nil {
		err = p.describe(m, o.Name)
	}
	// Close also waits for what runs beside us. When the copy has failed, what it would say follows from that.
	if cerr := p.zim.Close(); err == nil {
		err = cerr
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
	p.fixers = make([]linkFixer, max(crew.Size, 1))
	for i := range p.fixers {
		p.fixers[i].exists = p.exists
	}
	return phm.Visit(p.fsys, phm.Visitor[*packed]{
		Crew:   crew,
		Look:   p.look,
		Begin:  begin,
		Small:  func(f *phm.File) bool { return f.Size <= inMemory || (isPage(f) && f.Size <= maxPage) },
		Buffer: p.buffer,
		Work:   p.prepare,
		Take:   p.add,
		Large:  p.large,
	})
}

// redirect adds redirects. Where a file lies, and where another redirect is, there is none.
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

func isPage(f *phm.File) bool { return cleanType(f.Type) == htmlType }

// large begins a file that is not held in memory, or a file of the set itself.
func (p *packer) large(path string, size int64, f *phm.File) (io.WriteCloser, error) {
	if f != nil {
		return p.zim.Stream(p.entry(f), size)
	}
	e := zim.Entry{Namespace: zim.Index, Path: kept + path, Type: tableType}
	if path == phm.MetaName {
		e.Type = jsonType
	}
	if size > inMemory {
		return p.zim.Stream(e, size)
	}
	b := &blob{zim: p.zim, entry: e}
	b.Grow(int(size))
	return b, nil
}

// blob is an entry that is added when all of it is there, so that it is compressed beside what follows.
type blob struct {
	bytes.Buffer
	zim   *zim.Writer
	entry zim.Entry
}

func (b *blob) Close() error { return b.zim.Add(b.entry, b.Bytes()) }

func (p *packer) entry(f *phm.File) zim.Entry {
	e := zim.Entry{
		Namespace: zim.Content,
		Path:      f.Path,
		Type:      cleanType(f.Type),
		Plain:     !phm.Compressible(f.Type, f.Path),
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
	undo  []byte      // how it comes back of that, nil when it is shown as it is
	icon  image.Image // that it is, if it was looked for
}

// buffer returns one that is used again, or nil.
func (p *packer) buffer() []byte {
	select {
	case b := <-p.free:
		return b
	default:
		return nil
	}
}

// prepare makes an entry of a file. It runs in a worker.
func (p *packer) prepare(worker int, f *phm.File, body []byte) (*packed, error) {
	out := &packed{entry: p.entry(f), icon: p.icon.read(f, body), shown: body}
	switch e := &out.entry; {
	case len(body) == 0:
		out.shown, out.undo = []byte("\n"), appendUndo(nil, 0, 1, nil)
	case e.Type == htmlType:
		e.Front, e.Title = true, titleOf(body)
		fixer := &p.fixers[worker]
		shown, undo := fixer.fix(f, body)
		if undo != nil {
			out.shown, out.undo, fixer.out = shown, bytes.Clone(undo), body
		}
	case (f.Type == "") && charset.IsText(body):
		e.Type = plainType
	}
	if out.undo == nil {
		out.entry.Same = p.again.digest(f)
	}
	return out, nil
}

// add adds it, with what is to be undone in an entry of its own.
func (p *packer) add(f *packed) error {
	if f.icon != nil {
		p.icon.img = f.icon
	}
	err := p.zim.Add(f.entry, f.shown)
	if cap(f.shown) <= keepUpTo {
		select {
		case p.free <- f.shown:
		default:
		}
	}
	if err != nil || f.undo == nil {
		return err
	}
	return p.zim.Add(zim.Entry{
		Namespace: zim.Index,
		Path:      undone + f.entry.Path,
		Type:      unknownType,
	}, f.undo)
}
