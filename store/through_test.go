// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// throughSite is a one-off mirror whose documents are written through, but for one.
type throughSite struct {
	*oneOffSite
	tree    *Tree
	through *ThroughRests
	rests   *Rests
}

func newThrough(t *testing.T, dir string) *throughSite {
	_, s := openTest(t, dir, oneOff)
	h := &throughSite{oneOffSite: &oneOffSite{t: t, s: s, files: map[string]string{}}, rests: s.Rests()}
	var err error
	if h.tree, err = s.Trees.BuildEmpty(); err != nil {
		t.Fatal(err)
	}
	if h.through, err = h.rests.Through(h.tree); err != nil || h.through == nil {
		t.Fatal(h.through, err)
	}
	return h
}

// write commits a document that is written through.
func (h *throughSite) write(body string) {
	h.t.Helper()
	id := len(h.body)
	h.body = append(h.body, body)
	path := fmt.Sprintf("dir/%d.html", id)
	made, spans := spliceTest(body, "../v1")
	w := h.tree.Writer()
	defer w.Close()
	if err := w.WriteNew(path, []byte(made), time.Unix(1e9, 0)); err != nil {
		h.t.Fatal(err)
	}
	h.files[path] = made
	d := documentRecord(id, body, nil)
	var err error
	d.At, err = h.through.Add(new(FrameWriter), &d.Resource, []byte("links"), []byte(body), path, spans)
	if err != nil {
		h.t.Fatal(err)
	}
	commit(h.t, h.s, uint32(id), newURLs(id, id+1), d)
}

// all writes some documents, of which one comes in the usual way.
func (h *throughSite) all() {
	h.write("no link at all " + strings.Repeat("x", 5000))
	h.write("ABSOLUTE at the start, ABSOLUTEABSOLUTE twice and at the end ABSOLUTE")
	h.write("its file is made again without a rest: ABSOLUTE")
	h.come("large, and not put together with its file: ABSOLUTE")
	h.write("\xff\xfe no text: \x00 ABSOLUTE " + string(random(3000, 1)))
	h.write("")
}

// written is a document that was written through, for Withdraw.
func (h *throughSite) written(id int, at Place) WrittenThrough {
	return WrittenThrough{At: at, Path: fmt.Sprintf("dir/%d.html", id)}
}

// publish makes the files of documents again that were guessed wrongly, and publishes the tree.
func (h *throughSite) publish(wrong ...int) {
	h.t.Helper()
	foldAll(h.t, h.s, 1)
	r, w := NewFrameReader(), new(FrameWriter)
	recs := resources(h.t, h.s)
	var docs []WrittenThrough
	for _, id := range wrong {
		docs = append(docs, h.written(id, recs[testURL(id).String()].At))
	}
	if err := h.rests.Withdraw(h.tree, docs); err != nil {
		h.t.Fatal(err)
	}
	h.s.at("withdrawn")
	tw := h.tree.Writer()
	defer tw.Close()
	for _, id := range append(wrong, 3) {
		rec := recs[testURL(id).String()]
		path := fmt.Sprintf("dir/%d.html", id)
		if err := h.tree.Remove(path); err != nil {
			h.t.Fatal(err)
		}
		h.s.at("file removed")
		f, err := h.s.Frames.ReadFrame(r, rec.At)
		if err != nil {
			h.t.Fatal(err)
		}
		made, spans := spliceTest(string(f.Body), "../corrected")
		if err := tw.Write(path, []byte(made), time.Unix(1e9, 0)); err != nil {
			h.t.Fatal(err)
		}
		h.files[path] = made
		if id == 2 {
			continue // it gets no rest, as a large one
		}
		if err := h.rests.Add(w, rec.At, &f, path, spans, false); err != nil {
			h.t.Fatal(err)
		}
		h.s.at("file made again")
	}
	if err := errors.Join(h.through.Close(), h.rests.Note(1)); err != nil {
		h.t.Fatal(err)
	}
	if err := h.tree.Publish(Version{Number: 1, Files: len(h.files)}, nil); err != nil {
		h.t.Fatal(err)
	}
	h.through.Forget()
	h.s.at("forgotten")
	if err := h.tree.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// Documents that were written through are read by their files before and after the version is published, and
// a kill at any step costs none of them.
func TestThrough(t *testing.T) {
	dir := t.TempDir()
	h := newThrough(t, dir)
	type kill struct {
		step, dir string
		documents int
	}
	var kills []kill
	h.s.step = func(step string) { kills = append(kills, kill{step, copyState(t, dir), len(h.body)}) }
	h.all()
	h.s.at("all has come")
	if h.check() != 1 {
		t.Error("the document that was not written through is not kept as it came")
	}
	h.publish(1, 2)
	if h.check() != 1 {
		t.Error("documents went before they were settled")
	}
	for range 2 {
		if err := h.s.Rests().Settle(); err != nil || h.check() != 0 {
			t.Errorf("documents are still kept as they came: %v", err)
		}
		h.noneWithdrawn()
	}
	h.s.step = nil
	if _, err := h.s.Compact(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	h.check()
	h.come("came with the second version: ABSOLUTE")
	h.oneOffSite.publish(2, func(int) bool { return true })
	if err := h.s.Rests().Settle(); err != nil || h.check() != 0 {
		t.Error(err)
	}
	h.s.Close()
	_, h.s = openTest(t, dir, oneOff)
	h.check()
	if len(kills) < 12 {
		t.Errorf("only %d steps: %v", len(kills), kills)
	}
	for i, k := range kills {
		t.Run(fmt.Sprint(i, " ", k.step), func(t *testing.T) {
			_, s := openTest(t, k.dir, oneOff)
			again := &oneOffSite{t: t, s: s, body: h.body}
			again.check()
			recs := len(resources(t, s))
			if journal := len(resourcesOfJournal(t, s)); recs+journal < k.documents {
				t.Errorf("%d documents, want %d", recs+journal, k.documents)
			}
			again.recovered()
			if err := s.Rests().Settle(); err != nil {
				t.Fatal(err)
			}
			again.check()
			again.noneWithdrawn()
		})
	}
}

// noneWithdrawn checks that no file is kept aside.
func (h *oneOffSite) noneWithdrawn() {
	h.t.Helper()
	if _, err := os.Stat(filepath.Join(h.s.Dir(), "packs", withdrawnFolder)); !errors.Is(err, fs.ErrNotExist) {
		h.t.Errorf("withdrawn files are left: %v", err)
	}
}

// recovered holds that nothing is left of what was written through, unless it is published.
func (h *oneOffSite) recovered() {
	h.t.Helper()
	if live, err := h.s.Versions.List(); err != nil || len(live) > 0 {
		return
	}
	if _, err := os.Stat(filepath.Join(h.s.Dir(), "packs", packName(1))); !errors.Is(err, fs.ErrNotExist) {
		h.t.Errorf("rests of no version are left: %v", err)
	}
	for _, rec := range resourcesOfJournal(h.t, h.s) {
		f, err := h.s.Frames.ReadFrame(NewFrameReader(), rec.At)
		if err != nil || string(f.Body) != h.body[rec.ID] {
			h.t.Errorf("%s: %q, %v", rec.URL, f.Body, err)
		}
	}
}

// A kill while documents are recovered costs none of them.
func TestRecoverKilled(t *testing.T) {
	dir := t.TempDir()
	h := newThrough(t, dir)
	h.all()
	if err := errors.Join(h.through.Close(), h.tree.Close()); err != nil {
		t.Fatal(err)
	}
	h.through.Forget()
	dirs := []string{copyState(t, dir)}
	h.s.step = func(string) { dirs = append(dirs, copyState(t, dir)) }
	if err := h.rests.Recover(); err != nil {
		t.Fatal(err)
	}
	h.recovered()
	if len(dirs) < 2 {
		t.Errorf("%d steps", len(dirs))
	}
	for _, dir := range dirs {
		_, s := openTest(t, dir, oneOff)
		again := &oneOffSite{t: t, s: s, body: h.body}
		again.recovered()
		if n := len(resourcesOfJournal(t, s)); n != len(h.body) {
			t.Errorf("%d documents, want %d", n, len(h.body))
		}
		foldAll(t, s, 1)
		again.check()
	}
}

// A document whose file was changed or removed is damaged, and costs no other one.
func TestRecoverDamaged(t *testing.T) {
	for name, change := range map[string]func(file string) error{"changed": flipByte, "removed": os.Remove} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := newThrough(t, dir)
			h.all()
			if err := errors.Join(h.through.Close(), h.tree.Close()); err != nil {
				t.Fatal(err)
			}
			if err := change(filepath.Join(h.s.Dir(), "trees", nextTree, "dir/0.html")); err != nil {
				t.Fatal(err)
			}
			h.s.Close()
			_, s := openTest(t, dir, oneOff, BadFrame)
			r := NewFrameReader()
			for _, rec := range resourcesOfJournal(t, s) {
				f, err := s.Frames.ReadFrame(r, rec.At)
				if rec.ID == 0 {
					if !errors.Is(err, ErrDamaged) {
						t.Errorf("%v", err)
					}
				} else if err != nil || string(f.Body) != h.body[rec.ID] {
					t.Errorf("%s: %q, %v", rec.URL, f.Body, err)
				}
			}
		})
	}
}

// Nothing is written through where documents lie already.
func TestThroughOnlyFirst(t *testing.T) {
	h := newOneOff(t, t.TempDir())
	tree, err := h.s.Trees.BuildEmpty()
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if w, err := h.s.Rests().Through(tree); w != nil || err != nil {
		t.Error(w, err)
	}
	h.check()
}

// Large documents are put together with their files beside the heap, and leave no memory behind.
func TestWithdrawLarge(t *testing.T) {
	h := newThrough(t, t.TempDir())
	for i := range 5 {
		if i == 3 {
			h.come("not written through: ABSOLUTE")
			continue
		}
		h.write(fmt.Sprint(i, " ABSOLUTE", string(random(maxKept, byte(i)))))
	}
	r := NewFrameReader()
	r.Aside = true
	for id, rec := range resourcesOfJournal(t, h.s) {
		f, err := h.s.Frames.ReadFrame(r, rec.At)
		if err != nil || string(f.Body) != h.body[id] {
			t.Errorf("document %d: %d bytes, %v", id, len(f.Body), err)
		}
		if beside := len(r.aside) > 0; beside != (id != 3) {
			t.Errorf("document %d: %d buffers beside the heap", id, len(r.aside))
		}
		if r.Release(); cap(r.raw) > maxKept || cap(r.out) > maxKept {
			t.Errorf("document %d: %d and %d bytes are kept", id, cap(r.raw), cap(r.out))
		}
	}
	h.publish(0, 1, 2)
	h.check()
}
