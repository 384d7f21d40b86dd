// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// AheadOptions are what an Ahead works with. All fields are needed.
type AheadOptions struct {
	Table  *ledger.Table
	Seeds  []site.URL
	Frames render.FrameSource
	Trees  Trees
	Rests  *store.Rests
	Log    *slog.Logger
}

// Ahead places documents of the first version of a one-off mirror while its run still waits for answers: each
// one as soon as all that it links to is answered. Names are given, and the verdict falls, after the last
// answer; so what it placed is a guess until the Draft has looked at it, which takes the files over that are
// right and removes the others. Nobody sees the tree before that is published.
//
// Came is safe for concurrent use. Stop must follow; then a Draft uses the Ahead, or Discard.
type Ahead struct {
	o AheadOptions

	mu      sync.Mutex // guards what follows, up to ended
	some    *sync.Cond // ready has grown, or ended is set
	waiting map[uint32][]early
	ready   []early
	taken   int // 1 while one is being placed
	held    int // documents in waiting and ready, and the one that is being placed
	ended   bool

	work sync.WaitGroup

	// of the goroutine that works, and then of the caller
	outlook outlook
	namer   *phm.Namer
	tree    *store.Tree // nil until there is a file
	placed  map[uint32]placed
	err     error // why it has ended early
}

// early is a document that may be placed.
type early struct {
	id     uint32
	at     store.Place
	size   int64
	digest [32]byte
	mtime  int64 // Unix seconds
}

// placed is a file that was made.
type placed struct {
	at      store.Place // of the document
	rest    store.EarlyRest
	mtime   int64
	size    int64 // of the file
	digest  [32]byte
	literal bool      // it links to URLs without a number
	also    *phm.File // what else its line says; nil: nothing
}

const (
	// mostEarly is how many documents wait at a time.
	mostEarly = 1 << 13
	// mostEarlyEdits is how many declared edits a file has at most that is placed ahead.
	mostEarlyEdits = 100
)

// NewAhead returns an Ahead that works until Stop.
func NewAhead(o AheadOptions) *Ahead {
	a := &Ahead{
		o:       o,
		waiting: map[uint32][]early{},
		outlook: outlook{table: o.Table, seeds: o.Seeds, links: map[uint64]uint32{}},
		namer:   phm.NewNamer(phm.Layout{}, 0),
		placed:  map[uint32]placed{},
	}
	a.some = sync.NewCond(&a.mu)
	a.work.Go(a.run)
	return a
}

// Came says that the table has the answer of a URL, and which targets its document has. A nil Ahead does
// nothing.
func (a *Ahead) Came(rec *store.Resource, targets []uint32) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	if a.o.Table.Len() > mostForeseen { // a large site needs the memory
		a.ending()
		return
	}
	if those, ok := a.waiting[rec.ID]; ok {
		delete(a.waiting, rec.ID)
		a.ready = append(a.ready, those...)
		a.some.Signal()
	}
	document := rec.InSet && (rec.Outcome == site.Fetched) && rec.Body == store.PackBody
	if !document || !render.InMemory(rec) || a.held == mostEarly {
		return
	}
	a.held++
	doc := early{
		id:     rec.ID,
		at:     rec.At,
		size:   rec.Size,
		digest: rec.Digest,
		mtime:  render.ModTime(rec).Unix(),
	}
	if to, waits := a.o.Table.Waiting(targets); waits {
		a.waiting[to] = append(a.waiting[to], doc)
		return
	}
	a.ready = append(a.ready, doc)
	a.some.Signal()
}

// Stop ends the work. What waits is left to the Draft.
func (a *Ahead) Stop() {
	if a == nil {
		return
	}
	a.end()
	a.work.Wait()
}

func (a *Ahead) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ending()
}

// ending ends the work. The caller holds the lock.
func (a *Ahead) ending() {
	a.ended, a.waiting, a.ready = true, nil, nil
	a.some.Signal()
}

// next returns the next document that is ready; ok is false when the work has ended.
func (a *Ahead) next() (doc early, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held -= a.taken
	a.taken = 0
	for len(a.ready) == 0 && !a.ended {
		a.some.Wait()
	}
	if a.ended {
		return early{}, false
	}
	doc, a.ready = a.ready[0], a.ready[1:]
	a.taken = 1
	return doc, true
}

// await lets a document wait for an answer, which may have come meanwhile. Without a number it waits no more.
func (a *Ahead) await(doc *early, to uint32) {
	if to == none {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	a.held++
	if _, waits := a.o.Table.Waiting([]uint32{to}); waits {
		a.waiting[to] = append(a.waiting[to], *doc)
		return
	}
	a.ready = append(a.ready, *doc)
}

// run places what is ready.
func (a *Ahead) run() {
	p := aheadPlacer{
		Ahead:  a,
		splice: (&render.Renderer{Table: &a.outlook, Frames: a.o.Frames}).Splicer(),
		rests:  new(store.FrameWriter),
	}
	defer p.close()
	runnable := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	for {
		doc, ok := a.next()
		if !ok {
			return
		}
		a.idle(runnable)
		if a.err = p.place(&doc); a.err != nil {
			a.o.Log.Debug("nothing more is placed ahead", "err", a.err)
			a.end()
			return
		}
	}
}

// idle waits until no goroutine waits for a processor: workers that have an answer go first. Where all
// processors are busy until the end nothing is placed ahead; files are made in less time then, in the order
// of their paths.
func (a *Ahead) idle(runnable []metrics.Sample) {
	for pause := time.Millisecond; ; pause = min(2*pause, mostPause) {
		if metrics.Read(runnable); runnable[0].Value.Uint64() == 0 || a.hasEnded() {
			return
		}
		time.Sleep(pause)
	}
}

// mostPause is how long at most it is not looked whether there is time.
const mostPause = 4 * time.Millisecond

func (a *Ahead) hasEnded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// aheadPlacer is what the goroutine of an Ahead makes files with.
type aheadPlacer struct {
	*Ahead
	splice *render.Splicer
	rests  *store.FrameWriter
	w      *store.TreeWriter
}

func (p *aheadPlacer) close() {
	if p.w != nil {
		p.w.Close()
	}
}

// place places a document if all is known that its file depends on.
func (p *aheadPlacer) place(doc *early) error {
	o := &p.outlook
	if !o.begin() || !o.foresee(doc.id) {
		p.await(doc, o.waits)
		return nil
	}
	if final, in := o.Final(doc.id); !in || final != doc.id {
		return nil
	}
	f := phm.File{Path: o.Path(doc.id)}
	made := placed{at: doc.at, mtime: doc.mtime}
	rec := store.Resource{
		ID:     doc.id,
		At:     doc.at,
		Size:   doc.size,
		Digest: doc.digest,
	}
	file, ok, err := p.splice.DocumentIf(&rec, &f, func(t *render.StoredTarget) bool {
		made.literal = made.literal || t.Literal != nil
		return o.known(t)
	})
	switch {
	case err != nil:
		return err
	case !ok:
		p.await(doc, o.waits)
		return nil
	case len(f.Edits) > mostEarlyEdits || p.namer.Reserve(f.Path) != nil:
		return nil
	}
	if p.w == nil {
		if p.tree, err = p.o.Trees.BuildEmpty(); err != nil {
			return err
		}
		p.w = p.tree.Writer()
	}
	if err := file.WriteFile(p.w, time.Unix(doc.mtime, 0)); err != nil {
		return err
	}
	if made.rest, err = file.RestEarly(p.o.Rests, p.rests); err != nil {
		return err
	}
	made.size = f.Size
	if _, err := hex.Decode(made.digest[:], []byte(f.SHA256)); err != nil {
		return err
	}
	if len(f.Edits)+len(f.Extra) > 0 {
		made.also = &phm.File{Edits: f.Edits, Extra: f.Extra}
	}
	p.placed[doc.id] = made
	return nil
}

// take gives a Draft the tree with the files that are right. links calls its argument for each document, as
// Basis.Links does. ok is false when there is no tree, or none that can be used.
func (a *Ahead) take(t ledger.Settled, links func(f func(id uint32, targets []byte) error) error) (
	tree *store.Tree, ok bool, err error) {
	if a == nil || a.tree == nil {
		return nil, false, nil
	}
	if a.err != nil {
		return nil, false, a.Discard()
	}
	wrong, some, named := a.outlook.wrong(t)
	path := a.outlook.Path
	r := (&render.Renderer{Frames: a.o.Frames}).Splicer()
	maps.DeleteFunc(a.placed, func(id uint32, f placed) bool {
		s := t.State(id)
		right := s.InSet() && !s.Shares() && t.Path(id) == path(id)
		if right && f.literal && len(named) > 0 {
			names, err := r.Names(f.at, func(u []byte) bool { return named[xxh3.Hash(u)] })
			right = (err == nil) && !names // who reads it next says what is wrong
		}
		if !right {
			err = errors.Join(err, a.tree.Remove(path(id)))
		}
		return !right
	})
	if (err == nil) && some {
		err = links(func(id uint32, targets []byte) error {
			if _, ok := a.placed[id]; !ok || !leadsToAny(targets, wrong) {
				return nil
			}
			delete(a.placed, id)
			return a.tree.Remove(path(id))
		})
	}
	a.outlook, a.namer = outlook{}, nil
	tree, a.tree = a.tree, nil
	if err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	a.o.Log.Debug("placed ahead", "files", len(a.placed))
	return tree, true, nil
}

// leadsToAny reports whether a stored list of targets has one of some numbers.
func leadsToAny(targets []byte, ids numbers) (found bool) {
	store.Targets(targets, func(to uint32) bool {
		to &^= store.Mention | store.Guess
		found = (to/64 < uint32(len(ids))) && ids.has(to)
		return !found
	})
	return found
}

// Discard removes what was placed, unless a Draft has taken it. A nil Ahead does nothing.
func (a *Ahead) Discard() error {
	if a == nil {
		return nil
	}
	a.Stop()
	if a.tree == nil {
		return nil
	}
	tree := a.tree
	a.tree, a.placed = nil, nil
	return errors.Join(tree.Close(), tree.Discard(), a.o.Rests.DropEarly())
}

// line completes the line of a document of which the file stands as the Ahead placed it; ok is false when it
// does not, or is not what the record says by now.
func (a *Ahead) line(rec *store.Resource, f *phm.File) (ok bool, err error) {
	if a == nil {
		return false, nil
	}
	made, ok := a.placed[rec.ID]
	if !ok || (made.at != rec.At) || made.mtime != render.ModTime(rec).Unix() {
		return false, nil
	}
	f.Size, f.SHA256 = made.size, hex.EncodeToString(made.digest[:])
	if made.also != nil {
		f.Edits = made.also.Edits
		if f.Extra == nil {
			f.Extra = made.also.Extra
		} else {
			maps.Copy(f.Extra, made.also.Extra)
		}
	}
	return true, a.o.Rests.KeepEarly(rec.At, made.rest)
}
