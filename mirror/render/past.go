// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// PastFS is a kept version of a mirror as a file system: the same bytes as its tree had when it was
// published. A document is rendered when it is opened, from the raw body and links that are stored and the
// set as it was then; every file is compared with the digest in the version's file table. It knows files
// only, no directories; phm.files lists them. It holds the table of all URLs and of its files in memory.
// Safe for concurrent use.
type PastFS struct {
	Version record.Version
	from    Material
	render  *Renderer
	close   func() error
	files   []phm.File // by path
	bodies  []pastBody // of files
	table   []byte     // phm.files
	names   urls.Settled

	gone func(u site.URL) bool // URLs that are no longer in the version; nil: none
}

// pastBody says where the body of a file lies.
type pastBody struct {
	kind record.BodyKind
	id   uint32
	at   record.Place // of a PackBody
	time int64        // Unix seconds
}

func bodyOf(rec *record.Resource) pastBody {
	return pastBody{
		kind: rec.Body,
		id:   rec.ID,
		at:   rec.At,
		time: ModTime(rec).Unix(),
	}
}

var _ fs.FS = (*PastFS)(nil)

// VersionAt is the place of a version in a list, -1 when it is not there.
func VersionAt(vs []record.Version, number int) int {
	return slices.IndexFunc(vs, func(v record.Version) bool { return v.Number == number })
}

// OpenPast opens a kept version. The site must stay open as long as it is used, or until Detach.
func OpenPast(m Material, number int) (*PastFS, error) { return openPast(m, number, nil) }

// openPast is OpenPast for a version from which URLs are gone: its documents are rendered as if they were not
// in the mirror. Its file table is what it was.
func openPast(m Material, number int, gone func(u site.URL) bool) (*PastFS, error) {
	vs, err := m.Versions.List()
	if err != nil {
		return nil, err
	}
	i := VersionAt(vs, number)
	if i < 0 {
		return nil, fmt.Errorf("version %d of %s: %w", number, m.Name, record.ErrNoVersion)
	}
	live, err := liveFiles(m, &vs[len(vs)-1])
	if err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", number, m.Name, err)
	}
	past, err := m.Versions.Past(number)
	if err != nil {
		return nil, err
	}
	p := newPast(m, vs[i])
	p.gone = gone
	if err := p.readTable(live, vs[i+1:]); err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", number, m.Name, err)
	}
	if err := p.load(past.Resources); err != nil {
		return nil, err
	}
	return p, nil
}

func newPast(m Material, v record.Version) *PastFS {
	t := urls.New().Settled()
	return &PastFS{
		Version: v,
		from:    m,
		names:   t,
		render:  &Renderer{Table: t, Frames: m.Frames},
		close:   func() error { return nil },
	}
}

// records calls f for every record of a site as it was in some version, as facts.Past.Resources does.
type records func(f func(rec *record.Resource, here bool) error) error

// presentRecords are the records as they are now. They are those of the published version where no later
// run has changed something, and the only ones where the version was imported.
func presentRecords(all *facts.Records) records {
	return func(f func(rec *record.Resource, here bool) error) error {
		return all.Resources(func(rec *record.Resource) error { return f(rec, true) })
	}
}

// Detach makes the version independent of the site, which may be closed then, by the site's documents; Close
// closes them. Runs are not disturbed. A body that is collected meanwhile because its version was dropped,
// or whose pack was compacted, is store.ErrDamaged: open the version again.
func (p *PastFS) Detach(d *bodies.Packs) {
	p.render.Frames, p.close = d, d.Close
	p.from = Material{Bodies: p.from.Bodies}
}

// load fills the URL table with what was known then, and finds the bodies of the files.
func (p *PastFS) load(all records) error {
	n, err := p.from.Records.Known()
	if err != nil {
		return err
	}
	t := p.names
	t.Reserve(n)
	p.bodies = make([]pastBody, len(p.files))
	err = all(func(rec *record.Resource, here bool) error {
		if rec.ID >= n {
			return fmt.Errorf("record of %s: %w: number %d is not given yet", rec.URL, disk.ErrDamaged, rec.ID)
		}
		t.LoadURL(rec.ID, rec.URL)
		if !here || (p.gone != nil && p.gone(rec.URL)) {
			return nil
		}
		t.LoadPast(rec)
		if i, ok := p.find(rec.Path); ok && rec.InSet {
			p.bodies[i] = bodyOf(rec)
		}
		return nil
	})
	if err == nil {
		p.render.Shared = SharedURLs(t)
	}
	return err
}

// find returns the index of a file.
func (p *PastFS) find(path string) (int, bool) {
	return slices.BinarySearchFunc(p.files, path, func(f phm.File, n string) int {
		return strings.Compare(f.Path, n)
	})
}

// readTable makes the version's file table from that of the published version and the scripts of the later
// versions.
func (p *PastFS) readTable(live []phm.File, later []record.Version) error {
	was := map[string]*phm.File{} // path -> line then, nil for none; the earliest script decides
	for _, v := range later {
		script, err := p.from.Versions.Script(v.Number)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(script) {
			for f, err := range phm.Files(bytes.NewReader(line[1:])) {
				if err != nil {
					return fmt.Errorf("edit script of version %d: %w", v.Number, err)
				}
				if _, ok := was[f.Path]; ok {
					continue
				}
				if line[0] == '+' {
					was[f.Path] = nil
				} else {
					c := *f
					was[f.Path] = &c
				}
			}
		}
	}
	for i := range live {
		if _, changed := was[live[i].Path]; !changed {
			p.files = append(p.files, live[i])
		}
	}
	for _, f := range was {
		if f != nil {
			p.files = append(p.files, *f)
		}
	}
	slices.SortFunc(p.files, phm.ByPath)
	return p.writeTable()
}

// writeTable makes phm.files of the files.
func (p *PastFS) writeTable() (err error) {
	for i := range p.files {
		if p.table, err = phm.AppendFile(p.table, &p.files[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the documents that Detach got; a site stays open.
func (p *PastFS) Close() error { return p.close() }

// Files lists the files of the version by path. The slice is not to be changed.
func (p *PastFS) Files() []phm.File { return p.files }

// Open opens a file of the version.
func (p *PastFS) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	switch name {
	case phm.MetaName:
		return phm.NewMemoryFile(name, p.Version.Meta, p.Version.Time), nil
	case phm.FilesName:
		return phm.NewMemoryFile(name, p.table, p.Version.Time), nil
	}
	i, ok := p.find(name)
	if !ok {
		return fail(fs.ErrNotExist)
	}
	f, err := p.open(&p.files[i], &p.bodies[i])
	if err != nil {
		return fail(err)
	}
	return f, nil
}

func (p *PastFS) open(f *phm.File, b *pastBody) (fs.File, error) {
	switch b.kind {
	case record.BlobBody:
		d, err := hex.DecodeString(f.SHA256)
		if err != nil || len(d) != sha256.Size {
			return nil, fmt.Errorf("%w: %q is no digest", disk.ErrDamaged, f.SHA256)
		}
		blob, err := p.from.Bodies.OpenFile([32]byte(d))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: its blob is missing", disk.ErrDamaged)
		}
		return blob, disk.Unreadable(err)
	case record.PackBody:
		return p.document(f, b)
	}
	return nil, notStoredError{f.URL, p.Version.Number}
}

// notStoredError says that a version was published without the bodies of its pages: it was imported, or its
// database was rebuilt from the tree. It is a store.ErrDamaged to those who look no closer.
type notStoredError struct {
	url     string
	version int
}

func (e notStoredError) Error() string {
	return fmt.Sprintf("version %d was imported or rebuilt, and the original of %s is not stored: "+
		"it cannot be restored once a later version is published; "+
		"take it from what was imported, or export the current version", e.version, e.url)
}

func (notStoredError) Is(target error) bool { return target == disk.ErrDamaged }

// document renders a document as it was.
func (p *PastFS) document(f *phm.File, b *pastBody) (fs.File, error) {
	links, err := RepairsOf(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	s := p.render.Splicer()
	s.was = map[int32]Cure{}
	for _, l := range links {
		s.was[int32(l.At)] = Cure{To: l.To}
	}
	doc, err := s.read(s.frames, b.at, f.Path, p.names.Identity(b.id))
	if err != nil {
		return nil, err
	}
	out, _ := doc.splice(nil)
	if d := sha256.Sum256(out); hex.EncodeToString(d[:]) != f.SHA256 {
		return nil, fmt.Errorf("%w: it relocates to other bytes than it had", disk.ErrDamaged)
	}
	return phm.NewMemoryFile(f.Path, out, time.Unix(b.time, 0)), nil
}
