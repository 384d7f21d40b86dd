package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// splicer makes published files of stored bodies. Each worker of phase two has one.
type splicer struct {
	r      *run
	w      *store.TreeWriter
	frames *store.FrameReader
	links  docLinks
	out    []byte
	ref    []byte
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
	if m, err := http.ParseTime(rec.LastModified); err == nil && m.Unix() > 0 {
		f.Modified = m.UTC()
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
	body, err := s.splice(&rec, p, &f)
	if err != nil {
		return f, err
	}
	if same(t.live, &f) {
		return *t.live, s.keep(t, p)
	}
	return f, s.w.Write(p, body, mtime(&rec))
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

// splice returns the relocated bytes of a document, valid until the next call, and fills in what the file table says of them.
func (s *splicer) splice(rec *store.Resource, p string, f *phm.File) ([]byte, error) {
	fr, err := s.r.site.ReadFrame(s.frames, rec.At)
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", rec.URL, err)
	}
	if err := s.links.decode(fr.Links); err != nil {
		return nil, fmt.Errorf("publish %s: %w: %w", rec.URL, store.ErrDamaged, err)
	}
	var edits []relocate.Edit
	from := s.r.table.at(rec.ID).flags&fIdentity != 0
	changed := false
	s.out, edits = relocate.Splice(s.out[:0], fr.Body, s.links.charset, s.links.links, s.links.edits, func(i int) ([]byte, bool, bool) {
		ref, inside, replace := s.target(i, p, from)
		changed = changed || replace
		return ref, inside, replace
	})
	s.r.stats.relocated.Add(1)
	f.Size = int64(len(s.out))
	digest := rec.Digest
	if changed || len(edits) > 0 {
		digest = sha256.Sum256(s.out)
	}
	f.SHA256 = hex.EncodeToString(digest[:])
	for _, e := range edits {
		f.Edits = append(f.Edits, phm.Edit{Kind: e.Why.String(), At: int64(e.Start)})
	}
	out := s.out
	if cap(s.out) > 4<<20 {
		s.out = nil
	}
	return out, nil
}

// target is the reference that link i gets in the document at mirror path p: relative inside the set, absolute outside. from says
// whether the document's path is its URL's.
func (s *splicer) target(i int, p string, from bool) (ref []byte, inside, replace bool) {
	t := s.r.table
	l := &s.links.targets[i]
	id := l.id
	if l.literal != nil {
		var ok bool
		if id, ok = t.find(l.literal); !ok {
			if l.absolute {
				return nil, false, false
			}
			return l.literal, false, true
		}
	}
	if s.links.links[i].Kind == relocate.Action {
		return t.bytesAt(t.at(id).url, t.at(id).urlLen), false, !l.absolute
	}
	final, inside := t.final(id)
	if !inside {
		if l.absolute {
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
