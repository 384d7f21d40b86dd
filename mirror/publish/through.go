// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"mirrord/internal/texts"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// ThroughOptions are what a Through works with. All fields are needed.
type ThroughOptions struct {
	Table  *ledger.Table
	Seeds  []site.URL
	Frames render.FrameSource
	Trees  Trees
	Rests  *store.Rests
	Log    *slog.Logger
}

// Through writes documents of the first version of a one-off mirror through: when one comes, its links are
// relocated at once on the guess that what is in scope will be there, and it is stored as its published file
// and a rest (store.ThroughRests). Names are given, and the verdict falls, after the last answer; the Draft
// then takes over the files that are right, and the others are made again. Nobody sees the tree before that
// is published. A nil Through writes nothing.
//
// Came and ThroughWriters may be used at once. Stop must follow; then a Draft uses the Through, and Discard
// comes last.
type Through struct {
	o ThroughOptions

	room atomic.Pointer[[]byte] // in which the last large document was made

	mu      sync.Mutex // guards what follows
	outlook outlook
	placed  documents
	edits   texts.List
	packed  []byte
	extra   map[uint32]map[string]json.RawMessage // of lines of the file table
	writers []*ThroughWriter
	ended   bool
	tree    *store.Tree // nil until there is a file
	rests   *store.ThroughRests
}

// written is a document that was written through. The zero value is none.
type written struct {
	off, len uint32 // of its rest
	size     uint32 // of the file
	mtime    uint32 // Unix seconds
	digest   [32]byte
	when     uint32 // see outlook.clock
	path     uint32 // as an outlook has it
	edits    uint32 // number of what packEdits returns
	is       writtenIs
}

type writtenIs uint8

const (
	isWritten    writtenIs = 1 << iota
	isVoid                 // another body came since
	namesLiteral           // it has only the URLs of some links
	hasIdentity            // its path is that of its URL
)

// file is what the outlook said of the document when it was written.
func (w *written) file(id uint32) foreseen {
	return foreseen{
		path:     w.path,
		final:    id,
		in:       true,
		identity: w.is&hasIdentity != 0,
	}
}

// writtenChunk is how many numbers have their memory together.
const writtenChunk = 256

// documents are those that were written through, by their numbers.
type documents []*[writtenChunk]written

// of returns a document; nil when it was not written through.
func (d documents) of(id uint32) *written {
	if i := id / writtenChunk; i < uint32(len(d)) && d[i] != nil {
		if w := &d[i][id%writtenChunk]; w.is != 0 {
			return w
		}
	}
	return nil
}

func (d *documents) put(id uint32, w written) {
	i := int(id / writtenChunk)
	for len(*d) <= i {
		*d = append(*d, nil)
	}
	if (*d)[i] == nil {
		(*d)[i] = new([writtenChunk]written)
	}
	(*d)[i][id%writtenChunk] = w
}

// all returns the documents, by their numbers.
func (d documents) all() iter.Seq2[uint32, *written] {
	return func(yield func(uint32, *written) bool) {
		for i := range d {
			for k := range writtenChunk {
				if id := uint32(i*writtenChunk + k); d.of(id) != nil && !yield(id, d.of(id)) {
					return
				}
			}
		}
	}
}

// mostWrittenEdits is how many declared edits a file has at most that is written through.
const mostWrittenEdits = 100

// NewThrough returns a Through.
func NewThrough(o ThroughOptions) *Through {
	return &Through{
		o:       o,
		outlook: newOutlook(o.Table, o.Seeds),
		extra:   map[uint32]map[string]json.RawMessage{},
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
	names  said

	identity bool // the path of the document is its URL's
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
	if w == nil || size > render.SmallDocument {
		return render.AppendLinks(b, d, target)
	}
	return w.splice.AppendLinks(b, d, target)
}

// Write writes the document of a record through, with the links that AppendLinks encoded last. ok is false
// when it is to be stored in another way. A nil ThroughWriter writes none.
func (w *ThroughWriter) Write(rec *store.Resource, links, body []byte) (at store.Place, ok bool, err error) {
	if w == nil || len(body) > render.SmallDocument {
		return at, false, nil
	}
	if len(body) > render.KeptRoom {
		if room := w.t.room.Swap(nil); room != nil {
			w.splice.Lend(*room)
		}
	}
	defer func() {
		if room := w.splice.Trim(); room != nil {
			w.t.room.Store(&room)
		}
	}()
	f, made, err := w.foresee(rec, w.splice.Targets())
	if (err != nil) || made == nil {
		return at, false, err
	}
	doc, err := w.splice.Fresh(rec, body, &f, w.identity)
	if err != nil || len(f.Edits) > mostWrittenEdits {
		return at, false, err
	}
	if doc.WriteNew(w.w, render.ModTime(rec)) != nil {
		return at, false, nil // another file has its place; of a bad disk the store says more
	}
	if at, err = w.t.rests.Add(w.rests, rec, links, body, f.Path, w.splice.Spans()); err != nil {
		return at, false, err
	}
	if _, err := hex.Decode(made.digest[:], []byte(f.SHA256)); err != nil {
		return at, false, err
	}
	made.off, made.len, made.size = uint32(at.Off), at.Len, uint32(f.Size)
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	if len(f.Edits) > 0 {
		w.t.packed = packEdits(w.t.packed[:0], f.Edits)
		made.edits = w.t.edits.Add(w.t.packed)
	}
	if len(f.Extra) > 0 {
		w.t.extra[rec.ID] = f.Extra
	}
	w.t.placed.put(rec.ID, *made)
	return at, true, nil
}

// foresee finds out which file a document gets, and where its links lead. made is nil when that cannot be
// said.
func (w *ThroughWriter) foresee(rec *store.Resource, targets []render.StoredTarget) (
	f phm.File, made *written, err error) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.placed.of(rec.ID)
	if was != nil {
		was.is |= isVoid
	}
	mtime := render.ModTime(rec).Unix()
	if t.ended || was != nil || mtime != int64(uint32(mtime)) || t.rests.Size() > mostRests ||
		!t.outlook.begin(rec) {
		return f, nil, nil
	}
	self, ok := t.outlook.self(rec)
	if !ok {
		return f, nil, nil
	}
	made = &written{
		mtime: uint32(mtime),
		path:  self.path,
		is:    isWritten,
	}
	literal, ok := w.names.take(&t.outlook, targets)
	if !ok {
		return f, nil, nil
	}
	made.when = t.outlook.clock // not before: what is stale is retracted and said again
	if literal {
		made.is |= namesLiteral
	}
	if self.identity {
		made.is |= hasIdentity
	}
	w.identity = self.identity
	if w.w == nil {
		if err := t.begin(); err != nil {
			return f, nil, err
		}
		if t.ended {
			return f, nil, nil
		}
		w.w = t.tree.Writer()
	}
	return phm.File{Path: t.outlook.path(self)}, made, nil
}

// begin begins the tree. The caller holds the lock.
func (t *Through) begin() (err error) {
	if t.tree != nil {
		return nil
	}
	tree, err := t.o.Trees.BuildEmpty()
	if err != nil {
		return err
	}
	rests, err := t.o.Rests.Through(tree)
	if err != nil || rests == nil {
		t.ended = true
		return errors.Join(err, tree.Close())
	}
	t.tree, t.rests = tree, rests
	return nil
}

// take gives a Draft the tree with the files that are right. links calls its argument for each document, as
// Basis.Links does. ok is false when there is no tree, or none that can be used.
func (t *Through) take(now ledger.Settled, links func(f func(id uint32, targets []byte) error) error) (
	tree *store.Tree, ok bool, err error) {
	if t == nil || t.tree == nil {
		return nil, false, nil
	}
	some, named := t.outlook.compare(now)
	r := (&render.Renderer{Frames: t.o.Frames}).Splicer()
	var wrong []uint32
	for id, f := range t.placed.all() {
		s := now.State(id)
		right := f.is&isVoid == 0 && s.InSet() && !s.Shares() && f.when >= t.outlook.retracted[id]
		if right && f.is&namesLiteral != 0 && len(named) > 0 {
			names, err := r.Names(t.place(f), func(u []byte) bool { return named[hashOf(u)] })
			right = (err == nil) && !names // who reads it next says what is wrong
		}
		if !right {
			wrong = append(wrong, id)
		}
	}
	if some {
		retracted := make([]uint32, now.Len()) // a million links look at it
		for id, when := range t.outlook.retracted {
			retracted[id] = when
		}
		err = links(func(id uint32, targets []byte) error {
			f := t.placed.of(id)
			if f != nil && leadsToAny(targets, func(to uint32) bool {
				return to < uint32(len(retracted)) && f.when < retracted[to]
			}) {
				wrong = append(wrong, id)
			}
			return nil
		})
	}
	if err == nil {
		err = t.remove(wrong)
	}
	tree, t.tree = t.tree, nil
	t.outlook = outlook{}
	if err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	t.o.Log.Debug("written through", "wrong", len(wrong))
	return tree, true, nil
}

// remove removes the files of documents, which are stored as they came before that.
func (t *Through) remove(wrong []uint32) error {
	slices.Sort(wrong)
	wrong = slices.Compact(wrong)
	var places []store.Place
	for _, id := range wrong {
		if f := t.placed.of(id); f.is&isVoid == 0 {
			places = append(places, t.place(f))
		}
	}
	if err := t.o.Rests.Withdraw(places); err != nil {
		return err
	}
	for _, id := range wrong {
		f := t.placed.of(id)
		if err := t.tree.Remove(t.outlook.path(f.file(id))); err != nil {
			return err
		}
		f.is = 0
	}
	return nil
}

// place is where the rest of a document lies.
func (t *Through) place(f *written) store.Place { return t.rests.At(int64(f.off), f.len) }

// leadsToAny reports whether a stored list of targets has a number of a kind.
func leadsToAny(targets []byte, is func(id uint32) bool) (found bool) {
	store.Targets(targets, func(to uint32) bool {
		found = is(to &^ (store.Mention | store.Guess))
		return !found
	})
	return found
}

// Discard lets go of the tree, which a Draft has taken or not: documents that were written through are read
// by the published tree from now on. Where none was published, the next user of the site recovers them. A nil
// Through does nothing.
func (t *Through) Discard() error {
	if t == nil {
		return nil
	}
	t.Stop()
	if t.rests == nil {
		return nil
	}
	t.rests.Forget()
	err := t.rests.Close()
	if t.tree != nil {
		err = errors.Join(err, t.tree.Close())
	}
	t.tree, t.rests, t.placed = nil, nil, nil
	return err
}

// line completes the line of a document of which the file stands as it was written through; ok is false when
// it does not, or is not what the record says by now.
func (t *Through) line(rec *store.Resource, f *phm.File) (ok bool) {
	if t == nil {
		return false
	}
	made := t.placed.of(rec.ID)
	if made == nil || t.place(made) != rec.At || int64(made.mtime) != render.ModTime(rec).Unix() {
		return false
	}
	f.Size, f.SHA256 = int64(made.size), hex.EncodeToString(made.digest[:])
	f.Edits = unpackEdits(t.edits.Append(nil, made.edits))
	if extra := t.extra[rec.ID]; f.Extra == nil {
		f.Extra = extra
	} else {
		maps.Copy(f.Extra, extra)
	}
	return true
}

// packEdits appends declared edits to b in few bytes: of each, the length of its kind, the kind, and its
// place.
func packEdits(b []byte, edits []phm.Edit) []byte {
	for _, e := range edits {
		b = append(append(b, byte(len(e.Kind))), e.Kind...)
		b = binary.AppendUvarint(b, uint64(e.At))
	}
	return b
}

// unpackEdits returns what packEdits packed.
func unpackEdits(b []byte) (edits []phm.Edit) {
	for len(b) > 0 {
		n := 1 + int(b[0])
		at, size := binary.Uvarint(b[n:])
		edits = append(edits, phm.Edit{Kind: string(b[1:n]), At: int64(at)})
		b = b[n+size:]
	}
	return edits
}

// mostRests is how many bytes rests may take at most.
const mostRests = 1<<32 - 1<<28

// always is later than any time of an outlook.
const always = math.MaxUint32
