// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/internal/charset"
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

	inMemory  = 8 << 20  // bytes of a file up to which it is packed by way of memory
	maxPage   = 64 << 20 // the same of a page; the links of larger ones stay as they are
	mostTypes = 1000     // that are named; a hostile site could send one for each file
)

// Options are the choices of Pack.
type Options struct {
	Name string       // of the set, for people's collections
	Go   func(func()) // see zim.Options
}

// Pack writes a PHM as a ZIM file. Every file is checked against the table while it is read. fsys yields the
// files in the order of the table.
func Pack(f zim.File, fsys fs.FS, o Options) (*phm.Meta, error) {
	p := &packer{fsys: fsys, types: map[string]bool{}}
	m, err := p.pack(f, o)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// packer is a phm.Sink that packs what it gets.
type packer struct {
	fsys  fs.FS
	zim   *zim.Writer
	types map[string]bool // that are named in the file
	paths []uint64        // hashes of all mirror paths, sorted
	icon  iconFinder

	next  func() (*phm.File, error, bool)
	body  bytes.Buffer
	fixer linkFixer
}

func (p *packer) pack(f zim.File, o Options) (*phm.Meta, error) {
	m, err := phm.OpenMeta(p.fsys)
	if err != nil {
		return nil, err
	}
	if err := p.look(m); err != nil {
		return nil, err
	}
	p.zim, err = zim.NewWriter(f, zim.Options{
		UUID:     uuidOf(m),
		Types:    p.allTypes(),
		MainPage: m.Entry,
		Go:       o.Go,
	})
	if err != nil {
		return nil, err
	}
	err = p.copy()
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
func uuidOf(m *phm.Meta) (id [16]byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n", m.Primary, m.Version, m.TableSum))
	copy(id[:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // RFC 9562, version 8
	return id
}

// table yields the lines of the file table.
func (p *packer) table() iter.Seq2[*phm.File, error] {
	return func(yield func(*phm.File, error) bool) {
		r, err := phm.OpenRegular(p.fsys, phm.FilesName)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for f, err := range phm.Files(r) {
			if !yield(f, err) {
				return
			}
		}
	}
}

// look reads the table for what must be known before the first file.
func (p *packer) look(m *phm.Meta) error {
	p.icon.host = m.Primary
	for f, err := range p.table() {
		if err != nil {
			return err
		}
		if t := cleanType(f.Type); len(p.types) < mostTypes {
			p.types[t] = true
		}
		p.paths = append(p.paths, xxh3.HashString(f.Path))
		p.icon.look(f)
	}
	slices.Sort(p.paths)
	return nil
}

func (p *packer) exists(path string) bool {
	_, ok := slices.BinarySearch(p.paths, xxh3.HashString(path))
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

// copy packs all files.
func (p *packer) copy() error {
	next, stop := iter.Pull2(p.table())
	defer stop()
	p.next = next
	_, err := phm.Copy(p.fsys, p)
	return err
}

var errOrder = errors.New("the files do not come in the order of their table")

// Create begins a file of the set.
func (p *packer) Create(path string, _ time.Time) (io.WriteCloser, error) {
	if path == phm.MetaName || path == phm.FilesName {
		return p.createOwn(path)
	}
	f, err, ok := p.next()
	if err != nil {
		return nil, err
	}
	if !ok || f.Path != path {
		return nil, fmt.Errorf("%q: %w", path, errOrder)
	}
	e := p.entry(f)
	if f.Size <= inMemory || (e.Type == htmlType && f.Size <= maxPage) {
		p.body.Reset()
		return &packed{p: p, f: f, e: e}, nil
	}
	return p.zim.Stream(e, f.Size)
}

// createOwn begins phm.json or phm.files.
func (p *packer) createOwn(path string) (io.WriteCloser, error) {
	info, err := fs.Stat(p.fsys, path)
	if err != nil {
		return nil, err
	}
	e := zim.Entry{Namespace: zim.Index, Path: kept + path, Type: tableType}
	if path == phm.MetaName {
		e.Type = jsonType
	}
	return p.zim.Stream(e, info.Size())
}

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

// packed is a file that is packed when it is whole.
type packed struct {
	p *packer
	f *phm.File
	e zim.Entry
}

func (w *packed) Write(b []byte) (int, error) { return w.p.body.Write(b) }

func (w *packed) Close() error {
	p, body, e := w.p, w.p.body.Bytes(), w.e
	if int64(len(body)) != w.f.Size {
		return nil // whoever copies says what is wrong
	}
	p.icon.take(w.f, body)
	shown := body
	switch {
	case len(body) == 0:
		shown = []byte("\n")
	case e.Type == htmlType:
		e.Front, e.Title = true, titleOf(body)
		shown = p.fixer.fix(w.f, body, p.exists)
	case (w.f.Type == "") && charset.IsText(body):
		e.Type = plainType
	}
	if err := p.zim.Add(e, shown); err != nil || bytes.Equal(shown, body) {
		return err
	}
	return p.zim.Add(zim.Entry{
		Namespace: zim.Index,
		Path:      kept + w.f.Path,
		Type:      unknownType,
		Plain:     e.Plain,
	}, body)
}
