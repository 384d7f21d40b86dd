// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mirrord/internal/regular"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// readPlaces is a source of documents that notes which are read.
type readPlaces struct {
	*bodies.Frames
	read []record.Place
}

func (r *readPlaces) ReadFrame(fr *bodies.FrameReader, at record.Place) (bodies.Frame, error) {
	r.read = append(r.read, at)
	return r.Frames.ReadFrame(fr, at)
}

// Files of a chunk are made in the order in which their documents are stored, for any order of their URLs
// and paths, and each has its own line.
func TestChunkInOrderOfPacks(t *testing.T) {
	e := newEdition(t)
	const n = 20
	for i := range n {
		e.put(i, fmt.Sprintf("%02d.html", i), fmt.Sprint("page ", i), 1)
	}
	for i := range n / 2 { // the last page came first
		a, b := &e.recs[i], &e.recs[n-1-i]
		a.At, b.At = b.At, a.At
		a.Digest, b.Digest = b.Digest, a.Digest
		a.Size, b.Size = b.Size, a.Size
	}
	d := e.open(1)
	frames := &readPlaces{Frames: e.site.Frames}
	d.by.Renderer.Frames = frames
	w := &window{tasks: make([]Placing, n), files: make([]phm.File, n)}
	for i, id := range d.plan.Files {
		w.tasks[i].ID = id
	}
	w.cut(d)
	p := d.Placer()
	defer p.Close()
	read := 0
	for _, c := range w.chunks {
		p.chunk(t.Context(), c)
		these := frames.read[read:]
		if len(these) != len(c.these) || !slices.IsSortedFunc(these, record.Place.Compare) {
			t.Errorf("read at %v", these)
		}
		read = len(frames.read)
		if err := c.placed(func(FileFate) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if read != n || len(w.chunks) != (n+leastChunk-1)/leastChunk {
		t.Errorf("%d files read, %d chunks", read, len(w.chunks))
	}
	for i := range w.files {
		f := &w.files[i]
		b, err := d.tree.Root.ReadFile(f.Path, regular.MaxSmall)
		if want := fmt.Sprint("page ", n-1-i); err != nil || string(b) != want || f.Size != int64(len(want)) {
			t.Errorf("%s: %q, %d bytes, %v; want %q", f.Path, b, f.Size, err, want)
		}
	}
}

// Where most files stay, those that are made come first, and all workers get some of them.
func TestChunksOfFewThatAreMade(t *testing.T) {
	const n, every = 2000, 20
	table := urls.New().Settled()
	table.Reserve(n + 1)
	d := &Draft{plan: &VersionPlan{Table: table, again: make(record.Bits, n/64+1)}}
	w := &window{tasks: make([]Placing, n), files: make([]phm.File, n)}
	for i := range n {
		w.tasks[i].ID = uint32(n - i)
		if i%every > 0 {
			w.tasks[i].Was = new(phm.File)
		}
	}
	w.cut(d)
	var all []int
	most := 0
	for _, c := range w.chunks {
		if len(all) < n/every {
			most = max(most, len(c.these))
		}
		all = append(all, c.these...)
	}
	if workers := runtime.GOMAXPROCS(0); most > max(leastChunk, n/every/workers/2) {
		t.Errorf("%d of %d in a chunk, and %d workers", most, n/every, workers)
	}
	for k, i := range all[:n/every] {
		if want := n - every*(k+1); i != want { // by number
			t.Fatalf("file %d is %d, want %d", k, i, want)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != n {
		t.Errorf("%d of %d files", len(all), n)
	}
}

// Each damaged body is named; a full disk, which all workers meet, once.
func TestWindowErrors(t *testing.T) {
	for cause, times := range map[error]int{disk.ErrDamaged: 3, syscall.ENOSPC: 1} {
		w := new(window)
		for i := range 3 {
			w.chunks = append(w.chunks, &chunk{window: w, err: fmt.Errorf("file %d: %w", i, cause)})
		}
		var err error
		for _, c := range w.chunks {
			err = c.placed(nil)
		}
		if strings.Count(fmt.Sprint(err), cause.Error()) != times {
			t.Errorf("%v", err)
		}
	}
}
