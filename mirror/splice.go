// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"
	"slices"
	"time"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// splicer makes published files of stored bodies. Each worker of phase two has one.
type splicer struct {
	r        *run
	w        *store.TreeWriter
	frames   *store.FrameReader
	large    *store.FrameReader // shared, guarded by run.large
	links    render.StoredLinks
	out      []byte
	ref      []byte
	was      map[int32]cure // repaired links by their starts, of a version that was published; nil: those of the run
	cured    []repairedLink // of the document
	declared int            // bytes of its line that they take, about
	full     bool           // some links are not repaired because of that
}

// task is one file of the new version.
type task struct {
	id   uint32
	live *phm.File // the file at the same path of the published version
	old  *phm.File // the file that stands there in the tree that is brought up to date; nil as well when it may be wrong

	wrong bool // the published file is not what its line says
}

// place brings one file of the tree up to date and returns its line of the file table.
func (s *splicer) place(t *task) (phm.File, error) {
	table := s.r.table.Settled()
	p := table.Path(t.id)
	if t.live != nil && !table.State(t.id).Dirty() && !t.wrong && s.r.sharedAs(t.live, t.id) {
		if kept, err := s.keep(t, p); kept || (err != nil) {
			return *t.live, err
		}
		t.wrong = true
	}
	u := table.URL(t.id)
	rec, ok, err := s.r.site.Get(u)
	if err != nil {
		return phm.File{}, err
	}
	if !ok || rec.Body == store.NoBody {
		return phm.File{}, fmt.Errorf("publish %s: %w: it has no body", u, store.ErrDamaged)
	}
	f, err := s.line(&rec, p)
	if err != nil {
		return f, err
	}
	if rec.Body == store.BlobBody {
		if same(t.live, &f) && !t.wrong {
			if kept, err := s.keep(t, p); kept || (err != nil) {
				return s.lineOf(t, f), err
			}
		}
		if same(t.old, &f) && s.stands(t.old) {
			return f, nil
		}
		return f, s.w.LinkBlob(p, rec.Digest)
	}
	return s.document(t, &rec, p, f)
}

// line begins the line of a file; of a document it has the body as it came.
func (s *splicer) line(rec *store.Resource, p string) (phm.File, error) {
	f := phm.File{Path: p, URL: rec.URL.String(), Type: rec.MIME, Size: rec.Size, SHA256: hex.EncodeToString(rec.Digest[:])}
	if rec.Modified > 0 {
		f.Modified = time.Unix(rec.Modified, 0).UTC()
	}
	return f, errors.Join(s.r.declareSource(&f, rec), s.r.declareShared(&f, rec.ID))
}

// smallFrame is the largest frame, in bytes, whose document is spliced in memory. Larger ones are spliced one at a time, as a
// stream, and twice: once to know the digest, once more if the file is not there yet.
const smallFrame = 1 << 20

// mostEdits is how many edits a line of the file table declares, beside repaired links, which have their own room: a line of 4 MiB is bad (package phm).
const mostEdits = 50_000

// document places a relocated document.
func (s *splicer) document(t *task, rec *store.Resource, p string, f phm.File) (phm.File, error) {
	frames := s.frames
	if rec.At.Len > smallFrame || rec.Size > smallFrame {
		s.r.large.Lock()
		defer s.r.large.Unlock()
		defer func() {
			s.links = render.StoredLinks{}
			s.large.Release()
			if rec.Size > hugeDocument {
				runtime.GC() // before the next one comes
			}
		}()
		frames = s.large
	}
	doc, err := s.relocate(frames, rec, &f)
	if err != nil {
		return f, fmt.Errorf("publish %s: %w", rec.URL, err)
	}
	if same(t.live, &f) && sameRepairs(t.live, &f) && !t.wrong {
		if kept, err := s.keep(t, p); kept || (err != nil) {
			return s.lineOf(t, f), err
		}
	}
	if len(doc.body) <= smallFrame {
		return f, s.w.Write(p, s.out, mtime(rec))
	}
	return f, s.w.Stream(p, mtime(rec), func(w io.Writer) error {
		_, err := doc.stream(w)
		return err
	})
}

// relocate reads a document and completes its line. The bytes of a small one are in s.out then.
func (s *splicer) relocate(frames *store.FrameReader, rec *store.Resource, f *phm.File) (*document, error) {
	fr, err := s.r.site.ReadFrame(frames, rec.At)
	if err != nil {
		return nil, err
	}
	if err := s.links.Decode(fr.Links); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	s.r.stats.Relocated.Add(1)
	doc := &document{s: s, body: fr.Body, path: f.Path, from: s.r.table.Settled().State(rec.ID).Identity()}
	var edits []relocate.Edit
	digest := rec.Digest
	s.restart()
	if len(fr.Body) <= smallFrame {
		s.out, edits = relocate.Splice(s.out[:0], fr.Body, s.links.Charset, s.links.Links, s.links.Edits, doc.target)
		f.Size = int64(len(s.out))
		if doc.changed || len(edits) > 0 {
			digest = sha256.Sum256(s.out)
		}
	} else {
		c := counter{h: sha256.New()}
		if edits, err = doc.stream(&c); err != nil {
			return nil, err
		}
		f.Size = c.n
		c.h.Sum(digest[:0])
	}
	f.SHA256 = hex.EncodeToString(digest[:])
	for i, e := range edits {
		if i == mostEdits {
			s.r.notes.Add(fmt.Sprintf("documents with more than %d declared edits: the file table names the first ones", mostEdits), rec.URL)
			break
		}
		f.Edits = append(f.Edits, phm.Edit{Kind: e.Why.String(), At: int64(e.Start)})
	}
	if err := declareRepairs(f, s.cured); err != nil {
		return nil, err
	}
	if s.full {
		s.r.notes.Add("documents with more links to repair than their lines in the file table have room for: the rest stay as they are", rec.URL)
	}
	return doc, nil
}

// counter counts and digests what is written to it.
type counter struct {
	h hash.Hash
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.h.Write(p)
}

// document is one document that is spliced.
type document struct {
	s       *splicer
	body    []byte
	path    string
	from    bool // its path is its URL's
	changed bool // some link was replaced
}

func (d *document) target(i int) ([]byte, bool, bool) {
	ref, inside, replace := d.s.target(i, d.path, d.from)
	d.changed = d.changed || replace
	return ref, inside, replace
}

func (d *document) stream(w io.Writer) ([]relocate.Edit, error) {
	l := &d.s.links
	d.s.restart()
	return relocate.SpliceTo(w, d.body, l.Charset, l.Links, l.Edits, d.target)
}

// same reports whether two files have the same bytes, times and origin. A file of an imported mirror that was flattened says where it lay; that of
// the next version does not.
func same(a, b *phm.File) bool {
	return a != nil && a.SHA256 == b.SHA256 && a.Size == b.Size && a.Modified.Equal(b.Modified) && a.URL == b.URL && a.Type == b.Type && a.From == b.From
}

// sameLine reports whether two lines say the same of a file.
func sameLine(a, b *phm.File) bool {
	return same(a, b) && sameRepairs(a, b) && slices.Equal(a.Also(), b.Also())
}

// lineOf returns the line of a file that stays: as it was, unless other URLs share the file now.
func (s *splicer) lineOf(t *task, f phm.File) phm.File {
	if s.r.sharedAs(t.live, t.id) {
		return *t.live
	}
	return f
}

// keep makes the file the one that is published already. It reads a document before it links it: when the published bytes are not those of
// its line, kept is false and the document is to be made again from the stored body. A file that already stands in the tree is not read.
func (s *splicer) keep(t *task, p string) (kept bool, err error) {
	if (t.old != nil) && t.old.SHA256 == t.live.SHA256 && t.old.Modified.Equal(t.live.Modified) && s.stands(t.old) {
		return true, nil
	}
	if phm.HasLinks(t.live) {
		right, err := s.w.LiveHas(p, t.live.SHA256)
		if err != nil || !right {
			s.r.log.Warn("a published file has wrong bytes and is made again", "file", p, "err", err)
			return false, err
		}
	}
	return true, s.w.LinkLive(p)
}

// stands reports whether a file of the tree that is brought up to date is there as the tree's table says, as far as its folder knows.
func (s *splicer) stands(f *phm.File) bool {
	st, err := s.w.Stat(f.Path)
	return err == nil && st.Regular && st.Size == f.Size && !writtenSince(st, f, s.r.live)
}

// target is the reference that link i gets in the document at mirror path p: relative inside the set, absolute outside. from says
// whether the document's path is its URL's.
func (s *splicer) target(i int, p string, from bool) (ref []byte, inside, replace bool) {
	t := s.r.table.Settled()
	l := &s.links.Targets[i]
	id, ok := s.numberOf(i)
	if !ok {
		if ref, ok := s.repair(i, l.Literal); ok {
			return ref, false, true
		}
		if l.Absolute || s.links.Links[i].Kind == relocate.InScript {
			return nil, false, false
		}
		return l.Literal, false, true
	}
	if s.links.Links[i].Kind == relocate.Action {
		return t.Bytes(id), false, !l.Absolute
	}
	final, inside := t.Final(id)
	if !inside {
		if ref, ok := s.repair(i, t.Bytes(id)); ok {
			return ref, false, true
		}
		if l.Absolute || s.links.Links[i].Kind == relocate.InScript {
			return nil, false, false
		}
		return t.Bytes(id), false, true
	}
	if from && l.Plain && final == id && t.State(final).Identity() {
		return nil, true, false // the copy lies as the site does: the link is right as it is
	}
	s.ref = relocate.Relative(s.ref[:0], p, t.Path(final))
	return s.ref, true, true
}

// numberOf is the number of the URL that link i leads to; ok is false for one that has none, which is a literal.
func (s *splicer) numberOf(i int) (id uint32, ok bool) {
	l := &s.links.Targets[i]
	if l.Literal == nil {
		return l.ID, true
	}
	return s.r.table.Settled().Find(l.Literal)
}

// errNoEntry says that the mirror would have no page to open.
var errNoEntry = errors.New("no entry point is in the mirror, and no version is published without one")

// entry returns the mirror path of the first entry point that is in the set.
func (r *run) entry() (path string, u site.URL, err error) {
	t := r.table.Settled()
	for _, s := range r.seeds {
		if id, ok := t.Find([]byte(s.String())); ok {
			if f, in := t.Final(id); in {
				return t.Path(f), t.URL(f), nil
			}
		}
	}
	return "", site.URL{}, errNoEntry
}
