// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// placer brings files of a tree up to date. Each worker of phase two has one.
type placer struct {
	r      *run
	w      *store.TreeWriter
	splice *render.Splicer
}

// task is one file of the new version.
type task struct {
	id   uint32
	live *phm.File // the file at the same path of the published version
	old  *phm.File // the file that stands there in the tree that is brought up to date; nil as well when it may be wrong

	wrong bool // the published file is not what its line says
}

// place brings one file of the tree up to date and returns its line of the file table.
func (s *placer) place(t *task) (phm.File, error) {
	table := s.r.table.Settled()
	p := table.Path(t.id)
	if t.live != nil && !table.State(t.id).Dirty() && !t.wrong && s.r.shared.Fits(t.live, t.id) {
		if kept, err := s.keep(t, p); kept || (err != nil) {
			return *t.live, err
		}
		t.wrong = true
	}
	u := table.URL(t.id)
	rec, ok, err := s.r.site.Records.Get(u)
	if err != nil {
		return phm.File{}, err
	}
	if !ok || rec.Body == store.NoBody {
		return phm.File{}, fmt.Errorf("publish %s: %w: it has no body", u, store.ErrDamaged)
	}
	f, err := s.splice.Line(&rec, p)
	if err != nil {
		return f, err
	}
	if rec.Body == store.BlobBody {
		if render.SameFile(t.live, &f) && !t.wrong {
			if kept, err := s.keep(t, p); kept || (err != nil) {
				return s.lineOf(t, f), err
			}
		}
		if render.SameFile(t.old, &f) && s.stands(t.old) {
			return f, nil
		}
		return f, s.w.LinkBlob(p, rec.Digest)
	}
	return s.document(t, &rec, p, f)
}

// document places a document.
func (s *placer) document(t *task, rec *store.Resource, p string, f phm.File) (phm.File, error) {
	doc, err := s.splice.Document(rec, &f)
	if err != nil {
		return f, fmt.Errorf("publish %s: %w", rec.URL, err)
	}
	defer doc.Close()
	if render.SameFile(t.live, &f) && render.SameRepairs(t.live, &f) && !t.wrong {
		if kept, err := s.keep(t, p); kept || (err != nil) {
			return s.lineOf(t, f), err
		}
	}
	return f, doc.WriteFile(s.w, render.ModTime(rec))
}

// lineOf returns the line of a file that stays: as it was, unless other URLs share the file now.
func (s *placer) lineOf(t *task, f phm.File) phm.File {
	if s.r.shared.Fits(t.live, t.id) {
		return *t.live
	}
	return f
}

// keep makes the file the one that is published already. It reads a document before it links it: when the published bytes are not those of
// its line, kept is false and the document is to be made again from the stored body. A file that already stands in the tree is not read.
func (s *placer) keep(t *task, p string) (kept bool, err error) {
	if (t.old != nil) && t.old.SHA256 == t.live.SHA256 && t.old.Modified.Equal(t.live.Modified) && s.stands(t.old) {
		return true, nil
	}
	if render.Linked(t.live) {
		right, err := s.w.LiveHas(p, t.live.SHA256)
		if err != nil || !right {
			s.r.log.Warn("a published file has wrong bytes and is made again", "file", p, "err", err)
			return false, err
		}
	}
	return true, s.w.LinkLive(p)
}

// stands reports whether a file of the tree that is brought up to date is there as the tree's table says, as far as its folder knows.
func (s *placer) stands(f *phm.File) bool {
	st, err := s.w.Stat(f.Path)
	return err == nil && st.Regular && st.Size == f.Size && !render.WrittenSince(st, f, s.r.live)
}

// entry returns the page that the mirror opens with.
func (r *run) entry() (path string, u site.URL, ok bool) {
	t := r.table.Settled()
	id, ok := t.Entry(r.rules.Seeds)
	if !ok {
		return "", site.URL{}, false
	}
	return t.Path(id), t.URL(id), true
}
