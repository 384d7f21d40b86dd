package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"
	"time"

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
	links    docLinks
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
	old  *phm.File // the file that stands there in the tree that is brought up to date
}

// place brings one file of the tree up to date and returns its line of the file table.
func (s *splicer) place(t *task) (phm.File, error) {
	table := s.r.table
	p := table.path(t.id)
	if t.live != nil && table.at(t.id).flags&fDirty == 0 {
		return *t.live, s.keep(t, p)
	}
	u := table.urlOf(t.id)
	rec, ok, err := s.r.site.Get(u)
	if err != nil {
		return phm.File{}, err
	}
	if !ok || rec.Body == store.NoBody {
		return phm.File{}, fmt.Errorf("publish %s: %w: it has no body", u, store.ErrDamaged)
	}
	f := phm.File{Path: p, URL: u.String(), Type: rec.MIME, Size: rec.Size}
	if rec.Modified > 0 {
		f.Modified = time.Unix(rec.Modified, 0).UTC()
	}
	if err := s.r.declareSource(&f, &rec); err != nil {
		return f, err
	}
	if rec.Body == store.BlobBody {
		f.SHA256 = hex.EncodeToString(rec.Digest[:])
		if same(t.live, &f) {
			return *t.live, s.keep(t, p)
		}
		if same(t.old, &f) {
			return f, nil
		}
		return f, s.w.LinkBlob(p, rec.Digest)
	}
	return s.document(t, &rec, p, f)
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
			s.links = docLinks{}
			s.large.Release()
			if rec.Size > hugeDocument {
				runtime.GC() // before the next one comes
			}
		}()
		frames = s.large
	}
	fr, err := s.r.site.ReadFrame(frames, rec.At)
	if err != nil {
		return f, fmt.Errorf("publish %s: %w", rec.URL, err)
	}
	if err := s.links.decode(fr.Links); err != nil {
		return f, fmt.Errorf("publish %s: %w: %w", rec.URL, store.ErrDamaged, err)
	}
	s.r.stats.relocated.Add(1)
	doc := document{s: s, body: fr.Body, path: p, from: s.r.table.at(rec.ID).flags&fIdentity != 0}
	var edits []relocate.Edit
	digest := rec.Digest
	s.restart()
	if len(fr.Body) <= smallFrame {
		s.out, edits = relocate.Splice(s.out[:0], fr.Body, s.links.charset, s.links.links, s.links.edits, doc.target)
		f.Size = int64(len(s.out))
		if doc.changed || len(edits) > 0 {
			digest = sha256.Sum256(s.out)
		}
	} else {
		c := counter{h: sha256.New()}
		if edits, err = doc.stream(&c); err != nil {
			return f, fmt.Errorf("publish %s: %w", rec.URL, err)
		}
		f.Size = c.n
		c.h.Sum(digest[:0])
	}
	f.SHA256 = hex.EncodeToString(digest[:])
	for i, e := range edits {
		if i == mostEdits {
			s.r.notes.add(fmt.Sprintf("documents with more than %d declared edits: the file table names the first ones", mostEdits), rec.URL)
			break
		}
		f.Edits = append(f.Edits, phm.Edit{Kind: e.Why.String(), At: int64(e.Start)})
	}
	if err := declareRepairs(&f, s.cured); err != nil {
		return f, err
	}
	if s.full {
		s.r.notes.add("documents with more links to repair than their lines in the file table have room for: the rest stay as they are", rec.URL)
	}
	if same(t.live, &f) && sameRepairs(t.live, &f) {
		return *t.live, s.keep(t, p)
	}
	if len(fr.Body) <= smallFrame {
		return f, s.w.Write(p, s.out, mtime(rec))
	}
	return f, s.w.Stream(p, mtime(rec), func(w io.Writer) error {
		_, err := doc.stream(w)
		return err
	})
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
	return relocate.SpliceTo(w, d.body, l.charset, l.links, l.edits, d.target)
}

// same reports whether two files have the same bytes and times.
func same(a, b *phm.File) bool {
	return a != nil && a.SHA256 == b.SHA256 && a.Size == b.Size && a.Modified.Equal(b.Modified) && a.URL == b.URL && a.Type == b.Type
}

// keep makes the file the one that is published already.
func (s *splicer) keep(t *task, p string) error {
	if t.old != nil && t.old.SHA256 == t.live.SHA256 && t.old.Modified.Equal(t.live.Modified) {
		return nil
	}
	return s.w.LinkLive(p)
}

// target is the reference that link i gets in the document at mirror path p: relative inside the set, absolute outside. from says
// whether the document's path is its URL's.
func (s *splicer) target(i int, p string, from bool) (ref []byte, inside, replace bool) {
	t := s.r.table
	l := &s.links.targets[i]
	id, ok := s.numberOf(i)
	if !ok {
		if ref, ok := s.repair(i, l.literal); ok {
			return ref, false, true
		}
		if l.absolute || s.links.links[i].Kind == relocate.InScript {
			return nil, false, false
		}
		return l.literal, false, true
	}
	if s.links.links[i].Kind == relocate.Action {
		return t.bytesAt(t.at(id).url, t.at(id).urlLen), false, !l.absolute
	}
	final, inside := t.final(id)
	if !inside {
		if ref, ok := s.repair(i, t.bytesAt(t.at(id).url, t.at(id).urlLen)); ok {
			return ref, false, true
		}
		if l.absolute || s.links.links[i].Kind == relocate.InScript {
			return nil, false, false
		}
		e := t.at(id)
		return t.bytesAt(e.url, e.urlLen), false, true
	}
	if from && l.plain && final == id && t.at(final).flags&fIdentity != 0 {
		return nil, true, false // the copy lies as the site does: the link is right as it is
	}
	s.ref = relocate.Relative(s.ref[:0], p, t.path(final))
	return s.ref, true, true
}

// numberOf is the number of the URL that link i leads to; ok is false for one that has none, which is a literal.
func (s *splicer) numberOf(i int) (id uint32, ok bool) {
	l := &s.links.targets[i]
	if l.literal == nil {
		return l.id, true
	}
	return s.r.table.find(l.literal)
}

// errNoEntry says that the mirror would have no page to open.
var errNoEntry = errors.New("the entry point is not in the mirror")

// entry returns the mirror path of the first entry point that is in the set.
func (r *run) entry() (path string, u site.URL, err error) {
	t := r.table
	for _, s := range r.seeds {
		if id, ok := t.find([]byte(s.String())); ok {
			if f, in := t.final(id); in {
				return t.path(f), t.urlOf(f), nil
			}
		}
	}
	return "", site.URL{}, errNoEntry
}
