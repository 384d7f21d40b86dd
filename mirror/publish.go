// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
)

// tableCursor is the file table of a published version as a stream that can be asked for one path after the other.
type tableCursor struct {
	next func() (*phm.File, error, bool)
	stop func()
	cur  phm.File
	ok   bool
	err  error
}

// openTable opens phm.files of a tree; a nil tree, or one without, is empty.
func openTable(tree *os.Root) (*tableCursor, error) {
	c := &tableCursor{stop: func() {}}
	if tree == nil {
		return c, nil
	}
	f, err := tree.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(phm.Files(f))
	c.next = next
	c.stop = func() {
		stop()
		f.Close()
	}
	c.advance()
	return c, c.err
}

func (c *tableCursor) advance() {
	f, err, ok := c.next()
	if err != nil {
		c.err, ok = err, false
	}
	if c.ok = ok; ok {
		c.cur = *f
	}
}

// seek passes all files before path, tells of each, and returns the one at path, nil when there is none.
func (c *tableCursor) seek(path string, passed func(*phm.File)) *phm.File {
	for c.ok && c.cur.Path < path {
		if passed != nil {
			passed(&c.cur)
		}
		c.advance()
	}
	if !c.ok || c.cur.Path != path {
		return nil
	}
	f := c.cur
	c.advance()
	return &f
}

// rest passes all files that are left.
func (c *tableCursor) rest(passed func(*phm.File)) {
	for c.ok {
		passed(&c.cur)
		c.advance()
	}
}

// publish is phase two: the tree that is not live becomes the new version, and then the live one.
func (r *run) publish(ctx context.Context, j *judge.Judgement) error {
	if (j.Verdict == Suspicious) && !r.o.Accept {
		return nil
	}
	if err := r.prepareRepairs(ctx); err != nil {
		return err
	}
	ids := r.setInOrder()
	moved, err := r.markAffected()
	if err != nil {
		return err
	}
	r.markWrong(ids)
	t := r.table.Settled()
	dirty := slices.ContainsFunc(ids, func(id uint32) bool { return t.State(id).Dirty() })
	if r.live != nil && !dirty && !moved {
		return nil
	}
	switch here, err := r.judgeAt(judge.Building, r.newCase(), j); {
	case err != nil:
		return err
	case here == Suspicious:
		return r.startOver() // else the next run would only try to publish this one again
	}
	entry, entryURL, ok := r.entry()
	if !ok {
		return nil
	}
	r.stats.Phase.Store(int64(ledger.Relocating))
	debug.FreeOSMemory() // of settling
	tree, err := r.buildTree(ids)
	if err != nil {
		return err
	}
	defer tree.Close()
	b := build{r: r, tree: tree}
	table, err := b.files(ctx, ids)
	if err != nil {
		return err
	}
	meta := &phm.Meta{
		Generator: "mirrord", Entry: entry, Title: r.job.Title, Primary: r.layout.Primary, Retrieved: r.now(), Scope: r.scopeText(), Version: r.version,
		Failures: int(r.stats.Failed.Load()),
	}
	if !slices.ContainsFunc(ids, func(id uint32) bool { return t.URL(id).Origin() == meta.Primary }) {
		meta.Primary = entryURL.Origin() // the site has moved as a whole; an archive may not be named after an origin of which it has no file
	}
	for _, s := range r.rules.Seeds {
		meta.Origins = append(meta.Origins, s.String())
	}
	_, failures := r.notes.List()
	for _, f := range failures {
		meta.Failed = append(meta.Failed, phm.Failure{URL: f.URL, Reason: f.Reason})
	}
	meta.Count(table)
	if page, err := tree.Root.ReadFile(entry); err == nil {
		meta.Describe(phm.Describe(page))
	}
	r.log.Debug("relocated", "entry", entryURL.String(), "files", table.Files)
	var buf bytes.Buffer
	if err := phm.WriteMeta(&buf, meta); err != nil {
		return err
	}
	if err := writeFile(tree, phm.MetaName, buf.Bytes()); err != nil {
		return err
	}
	if r.live != nil && b.added+b.changed+b.removed == 0 {
		if len(r.tree.wrong) > 0 {
			return r.publishAgain(tree)
		}
		return tree.Unchanged()
	}
	c := r.newCase()
	c.Lost = b.removed - b.elsewhere
	switch here, err := r.judgeAt(judge.Publishing, c, j); {
	case err != nil:
		return err
	case here == Suspicious:
		return errors.Join(tree.Unchanged(), r.startOver())
	}
	r.stats.Phase.Store(int64(ledger.Publishing))
	if err := ctx.Err(); err != nil {
		return err
	}
	v := store.Version{
		Number: r.version, Time: r.now().UTC(), Files: table.Files, Bytes: table.Bytes, Added: b.added, Changed: b.changed, Removed: b.removed,
		Accepted: r.o.Accept, Meta: buf.Bytes(),
	}
	if err := tree.Publish(v, append(b.lost.Bytes(), b.differ.Bytes()...)); err != nil {
		return err
	}
	r.published = &v
	r.repairedLinks = b.repaired
	return nil
}

// betweenPhases gives the memory of retrieval back, so that a run needs the larger of its phases and not their sum.
func (r *run) betweenPhases() {
	r.procs = nil
	r.variants.Drop()
	r.front.Drop()
	debug.FreeOSMemory()
}

// scopeText is the job's scope for people.
func (r *run) scopeText() string {
	s := r.job.Scope
	text := s.Kind
	for _, x := range []struct {
		what string
		list []string
	}{{"prefixes", s.Prefixes}, {"including", s.Include}, {"excluding", s.Exclude}} {
		if len(x.list) > 0 {
			text += fmt.Sprintf("; %s %q", x.what, x.list)
		}
	}
	return text
}

// renderer makes the published files of what the run knows.
func (r *run) renderer() *render.Renderer {
	return &render.Renderer{
		Table:  r.table.Settled(),
		Frames: r.site.Frames,
		Shared: r.shared,
		Cures:  r.cures.Cures,
		Own:    r.provenance.Reused,
		Notes:  &r.notes,
		Counts: &r.stats,
	}
}

// setInOrder returns what is in the mirror, by mirror path.
func (r *run) setInOrder() []uint32 {
	t := r.table.Settled()
	var ids []uint32
	for id, s := range t.All() {
		if s.InSet() && !s.Shares() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return compareStrings(t.Path(a), t.Path(b)) })
	return ids
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// markAffected marks the documents that link to a URL that entered, left or moved, by one sequential pass over the links. It
// reports whether there was such a URL.
func (r *run) markAffected() (bool, error) {
	t := r.table.Settled()
	moved, strange := false, r.live == nil || r.rescan
	for id, s := range t.All() {
		if !s.Moved() {
			continue
		}
		moved = true
		// A URL out of scope has no number while no document needs it, so the lists cannot tell who links to it.
		if s.Requisite() && !r.rules.Scope.Covers(t.URL(id)) {
			strange = true
		}
	}
	if strange {
		for id := range t.Len() {
			t.Touch(id)
		}
		return moved, nil
	}
	if !moved {
		return false, nil
	}
	isMoved := func(id uint32) bool {
		for range ledger.MaxHops {
			if id >= t.Len() {
				return false
			}
			s := t.State(id)
			if s.Moved() {
				return true
			}
			if s.Target() == 0 {
				return false
			}
			id = s.Target() - 1
		}
		return false
	}
	return true, r.site.Records.Links(func(id uint32, targets []byte) error {
		if id >= t.Len() {
			return nil
		}
		if s := t.State(id); !s.InSet() || s.Dirty() {
			return nil
		}
		store.Targets(targets, func(to uint32) bool {
			if to == store.Unnumbered || isMoved(to&^(store.Mention|store.Guess)) {
				t.Touch(id)
				return false
			}
			return true
		})
		return nil
	})
}

// writeFile makes a file of the tree's root anew.
func writeFile(tree *store.Tree, name string, data []byte) error {
	w, err := tree.Create(name)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

// build is the making of one version.
type build struct {
	r                       *run
	tree                    *store.Tree
	added, changed, removed int
	elsewhere               int          // of the removed files those whose URL has another path now, as after the import of a flattened mirror
	repaired                int          // links to other sites
	lost, differ            bytes.Buffer // the edit script: what was dropped; what was added or changed
}

// chunk is a stretch of files in path order that one worker places.
type chunk struct {
	tasks []task
	files []phm.File
	err   error
	done  chan struct{}
}

const chunkFiles = 64

// files places all files on as many workers as there are CPUs, and writes the file table as a stream in path order.
func (b *build) files(ctx context.Context, ids []uint32) (phm.Table, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := b.r
	r.stats.RelocateTotal.Store(int64(len(ids)))
	live, err := openTable(b.tree.Live)
	if err != nil {
		return phm.Table{}, fmt.Errorf("file table of the published version: %w", err)
	}
	defer live.stop()
	old, err := openTable(b.tree.Root)
	if err != nil {
		return phm.Table{}, fmt.Errorf("file table of the tree: %w", err)
	}
	defer old.stop()

	n := runtime.GOMAXPROCS(0)
	work := make(chan *chunk, n)    // one waiting for each worker
	order := make(chan *chunk, 4*n) // bounds what is finished but not yet written
	var wg sync.WaitGroup
	defer wg.Wait()
	renderer := r.renderer()
	for range n {
		wg.Go(func() {
			s := &placer{r: r, w: b.tree.Writer(), splice: renderer.Splicer()}
			defer s.w.Close()
			for c := range work {
				s.chunk(ctx, c)
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(work)
		for len(ids) > 0 {
			k := min(chunkFiles, len(ids))
			c := &chunk{tasks: make([]task, k), done: make(chan struct{})}
			for i, id := range ids[:k] {
				p := r.table.Settled().Path(id)
				c.tasks[i] = task{id: id, live: live.seek(p, b.dropped), old: old.seek(p, nil), wrong: r.tree.wrong[p]}
				if c.tasks[i].wrong {
					c.tasks[i].old = nil
				}
			}
			ids = ids[k:]
			select {
			case order <- c:
			case <-ctx.Done():
				return
			}
			select {
			case work <- c:
			case <-ctx.Done():
				c.err = ctx.Err()
				close(c.done)
				return
			}
		}
		live.rest(b.dropped)
	})
	table, err := b.collect(order)
	if err != nil {
		cancel()
		for c := range order {
			<-c.done
		}
		return table, err
	}
	if err := errors.Join(live.err, old.err, ctx.Err()); err != nil {
		return table, err
	}
	return table, nil
}

// dropped counts a file of the published version that the new one has not.
func (b *build) dropped(f *phm.File) {
	b.removed++
	t := b.r.table.Settled()
	if id, ok := t.Find([]byte(f.URL)); ok && t.State(id).InSet() {
		b.elsewhere++
	}
	step(&b.lost, '-', f)
}

// step writes one step of the edit script that leads back to the version before: '-' and '~' with the line that a dropped or
// changed file had, '+' with the line of one that was added.
func step(w *bytes.Buffer, op byte, f *phm.File) {
	if line, err := phm.AppendFile([]byte{op}, f); err == nil {
		w.Write(line)
	}
}

func (s *placer) chunk(ctx context.Context, c *chunk) {
	defer close(c.done)
	c.files = make([]phm.File, len(c.tasks))
	var damaged error
	for i := range c.tasks {
		if c.err = ctx.Err(); c.err != nil {
			return
		}
		f, err := s.place(&c.tasks[i])
		if err != nil && !s.r.damage.note(c.tasks[i].id, err) {
			c.err = err
			return
		}
		damaged = errors.Join(damaged, err)
		c.files[i] = f
	}
	c.err = damaged
}

// collect writes the file table in order and counts what differs from the published version.
func (b *build) collect(order <-chan *chunk) (phm.Table, error) {
	w, err := b.tree.Create(phm.FilesName)
	if err != nil {
		return phm.Table{}, err
	}
	defer w.Close()
	fw := phm.NewFilesWriter(w)
	for c := range order {
		<-c.done
		if c.err != nil {
			return phm.Table{}, c.err
		}
		for i := range c.files {
			f := &c.files[i]
			b.repaired += render.CountRepairs(f)
			switch was := c.tasks[i].live; {
			case was == nil:
				b.added++
				if (b.r.live != nil) && b.r.tree.lost == nil {
					step(&b.differ, '+', f)
				}
			case !render.SameLine(was, f):
				b.changed++
				step(&b.differ, '~', was)
			}
			if err := fw.Write(f); err != nil {
				return phm.Table{}, err
			}
		}
		b.r.stats.RelocateDone.Add(int64(len(c.files)))
	}
	return fw.Finish()
}
