// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// throughSite is a one-off mirror as a version that wrote documents through has it in its first run.
type throughSite struct {
	*oneOffSite
	dir  string
	tree *Tree
}

func newThrough(t *testing.T) *throughSite {
	dir := t.TempDir()
	_, s := openTest(t, dir, oneOff)
	h := &throughSite{oneOffSite: &oneOffSite{t: t, s: s, files: map[string]string{}}, dir: dir}
	var err error
	if h.tree, err = s.Trees.BuildEmpty(); err != nil {
		t.Fatal(err)
	}
	h.put(kThrough, []byte{0, 0, 0, 1})
	h.write("no link at all " + strings.Repeat("x", 5000))
	h.write("ABSOLUTE at the start, ABSOLUTEABSOLUTE twice and at the end ABSOLUTE")
	h.write("its file is made again without a rest: ABSOLUTE")
	h.write("\xff\xfe no text: \x00 ABSOLUTE " + string(random(3000, 1)))
	h.write("")
	h.write(fmt.Sprint("large: ABSOLUTE", string(random(maxKept, 2))))
	if err := s.packs.finish(); err != nil {
		t.Fatal(err)
	}
	h.come("not put together with its file: ABSOLUTE")
	return h
}

func (h *throughSite) put(key, value []byte) {
	h.t.Helper()
	err := h.s.update("test", func(tx *transaction) error {
		return errors.Join(tx.Bucket(bMeta).Put(key, value), h.s.packs.note(tx))
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// write commits a document that is written through.
func (h *throughSite) write(body string) {
	h.t.Helper()
	id := len(h.body)
	h.body = append(h.body, body)
	h.make(id, "../v1")
	_, spans := spliceTest(body, "../v1")
	d := documentRecord(id, body, nil)
	m := FrameMetaOf(&d.Resource)
	f := Frame{Meta: m.append(nil), Links: []byte("links"), Body: []byte(body)}
	var err error
	d.At, err = h.s.packs.append(new(FrameWriter).rest(pathOf(id), &f, spans))
	if err != nil {
		h.t.Fatal(err)
	}
	leave(h.t, h.s, uint32(id), newURLs(id, id+1), d)
}

// leave commits a batch as a program before format 11 did.
func leave(t testing.TB, s *Site, first uint32, news []NewURL, done ...*Done) {
	t.Helper()
	b, err := s.Records.appendBatch(nil, first, news, done, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = s.update("leave batch", func(tx *transaction) error {
		j, err := tx.CreateBucketIfNotExists(bJournal)
		if err != nil {
			return err
		}
		n, err := j.NextSequence()
		known := binary.BigEndian.AppendUint32(nil, first+uint32(len(news)))
		return errors.Join(err, s.packs.note(tx), tx.Bucket(bMeta).Put(kKnown, known), j.Put(seqKey(n), b))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func pathOf(id int) string { return fmt.Sprintf("dir/%d.html", id) }

// make makes the file of a document in the tree.
func (h *throughSite) make(id int, ref string) {
	h.t.Helper()
	made, _ := spliceTest(h.body[id], ref)
	w := h.tree.Writer()
	defer w.Close()
	if err := w.Write(pathOf(id), []byte(made), time.Unix(1e9, 0)); err != nil {
		h.t.Fatal(err)
	}
	h.files[pathOf(id)] = made
}

// withdraw takes the files of two documents out of the tree, when all of them are folded.
func (h *throughSite) withdraw() {
	h.t.Helper()
	if err := takeJournal(h.s.home); err != nil {
		h.t.Fatal(err)
	}
	foldAll(h.t, h.s, 1)
	to := filepath.Join(h.s.Dir(), "packs", withdrawnFolder)
	if err := os.Mkdir(to, 0o755); err != nil {
		h.t.Fatal(err)
	}
	recs := resources(h.t, h.s)
	for id := 1; id <= 2; id++ {
		at := recs[testURL(id).String()].At
		err := os.Rename(filepath.Join(h.s.Dir(), "trees", nextTree, pathOf(id)),
			filepath.Join(to, fmt.Sprintf("%d.%d", at.Pack, at.Off)))
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

// again makes the files anew that are missing in the tree, and one that was not written through.
func (h *throughSite) again() {
	h.t.Helper()
	h.withdraw()
	last := len(h.body) - 1
	for _, id := range []int{1, 2, last} {
		h.make(id, "../corrected")
	}
}

// publish publishes the tree. The document 2 has no rest, as a large one.
func (h *throughSite) publish() {
	h.t.Helper()
	h.again()
	rests, recs := h.s.Rests(), resources(h.t, h.s)
	for _, id := range []int{1, len(h.body) - 1} {
		rec := recs[testURL(id).String()]
		m := FrameMetaOf(&rec)
		f := Frame{Meta: m.append(nil), Links: []byte("links"), Body: []byte(h.body[id])}
		_, spans := spliceTest(h.body[id], "../corrected")
		if err := rests.Add(new(FrameWriter), rec.At, &f, pathOf(id), spans, false); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := rests.Note(1); err != nil {
		h.t.Fatal(err)
	}
	if err := h.tree.Publish(Version{Number: 1, Files: len(h.files)}, nil); err != nil {
		h.t.Fatal(err)
	}
	err := h.s.update("test", func(tx *transaction) error { return tx.Bucket(bMeta).Delete(kThrough) })
	if err != nil {
		h.t.Fatal(err)
	}
}

// recover stores the documents as they came, and notes where each lies.
func (h *throughSite) recover() {
	h.t.Helper()
	var note []byte
	w := h.s.Frames.NewFrameWriter()
	for _, rec := range resourcesOfJournal(h.t, h.s) {
		if rec.At.Pack != 1 {
			continue
		}
		to, err := h.s.Frames.AppendFrame(w, FrameMetaOf(&rec), []byte("links"), []byte(h.body[rec.ID]))
		if err != nil {
			h.t.Fatal(err)
		}
		note = to.append(rec.At.append(note))
	}
	h.put(kMoved, note)
	h.put(kThrough, []byte{0, 0, 0, 1, 1})
}

// recovered removes what was written through, when all of it is stored as it came.
func (h *throughSite) recovered() {
	h.t.Helper()
	h.recover()
	err := h.s.update("test", func(tx *transaction) error { return tx.Bucket(bMeta).Delete(kThrough) })
	if err = errors.Join(err, h.s.packs.remove(1)); err != nil {
		h.t.Fatal(err)
	}
}

// A state in which a version before this one was killed while it wrote documents through, and later, has all
// of them once it is opened, also when that is killed.
func TestLeftThrough(t *testing.T) {
	for name, come := range map[string]func(h *throughSite){
		"in the journal":  func(*throughSite) {},
		"folded":          func(h *throughSite) { foldAll(h.t, h.s, 1) },
		"withdrawn":       (*throughSite).withdraw,
		"made again":      (*throughSite).again,
		"published":       (*throughSite).publish,
		"recovered":       (*throughSite).recovered,
		"recovered, kept": (*throughSite).recover,
		"recovered, folded": func(h *throughSite) {
			h.recovered()
			foldAll(h.t, h.s, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newThrough(t)
			come(h)
			dirs := []string{copyState(t, h.dir)}
			h.s.step = func(string) { dirs = append(dirs, copyState(t, h.dir)) }
			if err := errors.Join(storeThrough(h.s), h.tree.Close()); err != nil {
				t.Fatal(err)
			}
			h.s.step = nil
			if len(dirs) < 4 {
				t.Errorf("%d steps", len(dirs))
			}
			h.stored(h.s)
			for _, dir := range dirs {
				_, s := openTest(t, dir, oneOff)
				h.stored(s)
			}
			h.s.Close()
			_, h.s = openTest(t, h.dir, oneOff)
		})
	}
}

// stored checks that a site has all documents as they came, or as rests of the published version, and nothing
// else.
func (h *throughSite) stored(s *Site) {
	h.t.Helper()
	again := &oneOffSite{t: h.t, s: s, body: h.body}
	again.check()
	journal := resourcesOfJournal(h.t, s)
	if n := len(resources(h.t, s)) + len(journal); n != len(h.body) {
		h.t.Errorf("%d documents, want %d", n, len(h.body))
	}
	for _, rec := range journal {
		f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At)
		if err != nil || string(f.Body) != h.body[rec.ID] {
			h.t.Errorf("%s: %d bytes, %v", rec.URL, len(f.Body), err)
		}
	}
	err := s.db.View(func(tx *transaction) error {
		if m := tx.Bucket(bMeta); m.Get(kThrough) != nil || m.Get(kMoved) != nil {
			h.t.Error("notes are left")
		}
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
	live, err := s.Versions.List()
	if err != nil {
		h.t.Fatal(err)
	}
	for name, want := range map[string]bool{packName(1): len(live) > 0, withdrawnFolder: false} {
		if _, err := os.Stat(filepath.Join(s.Dir(), "packs", name)); errors.Is(err, fs.ErrNotExist) == want {
			h.t.Errorf("packs/%s: %v", name, err)
		}
	}
	if len(live) == 0 {
		return
	}
	if err := s.Rests().Settle(); err != nil {
		h.t.Fatal(err)
	}
	if again.check() != 0 {
		h.t.Error("documents are still kept as they came")
	}
}

// A document whose file was changed or removed is damaged, and costs no other one.
func TestLeftThroughDamaged(t *testing.T) {
	for name, change := range map[string]func(file string) error{"changed": flipByte, "removed": os.Remove} {
		t.Run(name, func(t *testing.T) {
			h := newThrough(t)
			if err := h.tree.Close(); err != nil {
				t.Fatal(err)
			}
			if err := change(filepath.Join(h.s.Dir(), "trees", nextTree, pathOf(0))); err != nil {
				t.Fatal(err)
			}
			h.s.Close()
			_, s := openTest(t, h.dir, oneOff, BadFrame)
			for _, rec := range resourcesOfJournal(t, s) {
				f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At)
				if rec.ID == 0 {
					if !errors.Is(err, ErrDamaged) {
						t.Errorf("%v", err)
					}
				} else if err != nil || string(f.Body) != h.body[rec.ID] {
					t.Errorf("%s: %d bytes, %v", rec.URL, len(f.Body), err)
				}
			}
		})
	}
}
