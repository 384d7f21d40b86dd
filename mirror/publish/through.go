// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"mirrord/internal/numbered"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// ThroughOptions are what a Through works with. All fields but Rests are needed.
type ThroughOptions struct {
	Table  *urls.Table
	Seeds  []site.URL
	Frames render.FrameSource
	Trees  Trees
	Rests  *store.Rests // nil: the documents are stored as they come, too
	Log    *slog.Logger
}

// Through writes documents of the first version of a mirror through: when one comes, its links are relocated
// at once on the guess that all in scope will be there, and its published file is made. Of a one-off
// mirror this file and a rest (store.ThroughRests) are all that is stored. Names are given, and the verdict
// falls, after the last answer; the Draft then takes over the files that are right, and the others are made
// again. The tree is not visible before that is published. A nil Through writes nothing.
//
// Came and ThroughWriters may be used at once. Stop must follow; then a Draft uses the Through, and Discard
// comes last.
type Through struct {
	o ThroughOptions

	room atomic.Pointer[[]byte] // in which the last large document was made

	mu      sync.Mutex // guards what follows
	outlook outlook
	placed  numbered.Values[writtenIs]
	lines   writtenLines // of placed
	writers []*ThroughWriter
	taken   numbered.Values[written] // those of placed, once a Draft takes the tree
	ended   bool
	tree    *store.Tree         // nil until there is a file
	rests   *store.ThroughRests // nil as well where documents have none
}

// NewThrough returns a Through.
func NewThrough(o ThroughOptions) *Through {
	return &Through{
		o:       o,
		outlook: newOutlook(o.Table, o.Seeds),
	}
}

// Came says that the table has the answer of a URL.
func (t *Through) Came(rec *store.Resource) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outlook.came(rec)
}

// Stop ends the writing. What comes later is stored as it comes.
func (t *Through) Stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	for _, w := range t.writers {
		w.close()
	}
	t.writers = nil
}

// ThroughWriter writes documents through, one after the other. One goroutine uses it.
type ThroughWriter struct {
	t      *Through
	splice *render.Splicer
	rests  *store.FrameWriter
	w      *store.TreeWriter
	file   phm.File // the last one
	names  said
}

// Writer returns a new writer, which Stop closes.
func (t *Through) Writer() *ThroughWriter {
	if t == nil {
		return nil
	}
	w := &ThroughWriter{t: t, rests: new(store.FrameWriter)}
	w.splice = (&render.Renderer{Table: &w.names, Frames: t.o.Frames}).Splicer()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writers = append(t.writers, w)
	return w
}

func (w *ThroughWriter) close() {
	if w.w != nil {
		w.w.Close()
	}
}

// AppendLinks is render.AppendLinks, for a document of some bytes that Write may follow for.
func (w *ThroughWriter) AppendLinks(
	b []byte, d *relocate.Doc, size int, target func(i int) (uint32, bool),
) []byte {
	if w == nil || size > render.LargestRest {
		return render.AppendLinks(b, d, target)
	}
	return w.splice.AppendLinks(b, d, target)
}

// Write writes the document of a record through, with the links that AppendLinks encoded last. ok says that
// it is stored, and at which place; otherwise the caller stores it. A nil ThroughWriter writes none.
func (w *ThroughWriter) Write(rec *store.Resource, links, body []byte) (at store.Place, ok bool, err error) {
	if w == nil || len(body) > render.LargestRest {
		return at, false, nil
	}
	if len(body) > render.KeptRoom && len(body) <= render.SmallDocument {
		if room := w.t.room.Swap(nil); room != nil {
			w.splice.Lend(*room)
		}
	}
	defer func() {
		if room := w.splice.Trim(); room != nil {
			w.t.room.Store(&room)
		}
	}()
	self, ok, err := w.foresee(rec, w.splice.Targets())
	if !ok || (err != nil) || w.splice.Edits() > mostWrittenEdits {
		return at, false, err
	}
	f := &w.file
	*f = phm.File{Path: self.path}
	if w.splice.Fresh(rec, body, f, self.identity).WriteFile(render.NewFiles{TreeWriter: w.w}) != nil {
		return at, false, nil // another file has its place; of a bad disk the store says more
	}
	if ok = w.t.rests != nil; ok {
		if at, err = w.t.rests.Add(w.rests, rec, links, body, f.Path, w.splice.Spans()); err != nil {
			return at, false, err
		}
	}
	line, err := w.t.lineOf(rec, at, f)
	if err != nil {
		return at, false, err
	}
	line.path, line.when = self.number, self.when
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.t.placed.Put(rec.ID, self.is)
	return at, ok, w.t.lines.add(&line)
}

// ownFile is the file that a document gets.
type ownFile struct {
	path     string
	number   uint32 // of the path, as an outlook has it
	identity bool   // the path is that of the URL
	when     uint32 // see outlook.clock
	is       writtenIs
}

// foresee finds out which file a document gets, and where its links lead. ok is false when that cannot be
// said.
func (w *ThroughWriter) foresee(
	rec *store.Resource, targets []render.StoredTarget,
) (self ownFile, ok bool, err error) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.placed.Of(rec.ID)
	if was != 0 {
		t.placed.Put(rec.ID, was|isVoid)
	}
	if t.ended || was != 0 || t.rests.Size() > mostRests || t.lines.full() || !t.outlook.begin(rec) {
		return self, false, nil
	}
	f, ok := t.outlook.self(rec)
	if !ok {
		return self, false, nil
	}
	literal, ok := w.names.take(&t.outlook, targets)
	if !ok {
		return self, false, nil
	}
	if w.w == nil {
		if err := t.begin(); err != nil {
			return self, false, err
		}
		if t.ended {
			return self, false, nil
		}
		w.w = t.tree.Writer()
	}
	self = ownFile{
		path:     t.outlook.pathTo(f, rec.URL),
		number:   f.path,
		identity: f.identity(),
		when:     t.outlook.clock, // not before: stale statements are retracted and made again
		is:       isWritten,
	}
	if literal {
		self.is |= namesLiteral
	}
	return self, true, nil
}

// mostWrittenEdits is how many declared edits a file has at most that is written through.
const mostWrittenEdits = 100

// mostRests is how many bytes rests may take at most.
const mostRests = 1<<32 - 1<<28

// begin begins the tree. The caller holds the lock.
func (t *Through) begin() (err error) {
	if t.tree != nil {
		return nil
	}
	tree, err := t.o.Trees.BuildEmpty()
	if err != nil {
		return err
	}
	if t.lines.file, err = t.o.Trees.Scratch(); err != nil {
		return errors.Join(err, tree.Close())
	}
	if t.o.Rests != nil {
		if t.rests, err = t.o.Rests.Through(tree); err != nil || t.rests == nil {
			t.ended = true
			return errors.Join(err, tree.Close())
		}
	}
	t.tree = tree
	return nil
}

// Discard lets go of the tree, which a Draft has taken or not: documents that have rests are read by the
// published tree from now on. Where none was published, the next user of the site recovers them. Where there
// are no rests, a tree that no Draft has taken is emptied. A nil Through does nothing.
func (t *Through) Discard() (err error) {
	if t == nil {
		return nil
	}
	t.Stop()
	if err = t.leave(); t.rests != nil {
		t.rests.Forget()
		err = t.rests.Close()
	}
	if t.tree != nil {
		err = errors.Join(err, t.tree.Close())
	}
	t.tree, t.rests = nil, nil
	t.placed, t.taken = numbered.Values[writtenIs]{}, numbered.Values[written]{}
	return errors.Join(err, t.lines.close())
}

// leave empties the tree, which no draft takes, and lets go of it: before another one is begun, which has the
// same name. Documents that have rests are read by it still. A nil Through does nothing.
func (t *Through) leave() error {
	if t == nil || t.tree == nil || t.rests != nil {
		return nil
	}
	err := errors.Join(t.tree.Empty(), t.tree.Close())
	t.tree = nil
	return err
}
