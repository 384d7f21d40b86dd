// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/relocate"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/upkeep"
)

// oneOffSite is the site of a one-off mirror of some documents, with what their files are.
type oneOffSite struct {
	t     testing.TB
	s     *Site
	body  []string // by number
	files map[string]string
}

var oneOff = Options{Volatile: true, OneOff: true}

// come commits a document as it came.
func (h *oneOffSite) come(body string) {
	h.t.Helper()
	id := len(h.body)
	h.body = append(h.body, body)
	d := document(h.t, h.s, id, body)
	commit(h.t, h.s, uint32(id), newURLs(id, id+1), d)
}

// publish publishes a version in which "ABSOLUTE" is replaced, with rests of the documents that has names.
func (h *oneOffSite) publish(version int, has func(id int) bool) {
	h.t.Helper()
	foldAll(h.t, h.s, version)
	rests, w, r := h.s.Records.Rests(), new(bodies.FrameWriter), bodies.NewFrameReader()
	h.files = map[string]string{}
	for _, rec := range resources(h.t, h.s) {
		f, err := h.s.Frames.ReadFrame(r, rec.At)
		if err != nil {
			h.t.Fatal(err)
		}
		path := fmt.Sprintf("dir/%d.html", rec.ID)
		made, spans := spliceTest(string(f.Body), fmt.Sprintf("../v%d", version))
		h.files[path] = made
		if !has(int(rec.ID)) {
			continue
		}
		if err := rests.Add(w, rec.At, &f, path, spans, false); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := rests.Note(version); err != nil {
		h.t.Fatal(err)
	}
	publishTest(h.t, h.s, version, h.files)
}

// spliceTest replaces "ABSOLUTE", and says where.
func spliceTest(body, ref string) (made string, spans []relocate.Span) {
	const old = "ABSOLUTE"
	pos := 0
	for {
		i := strings.Index(body[pos:], old)
		if i < 0 {
			return made + body[pos:], spans
		}
		made += body[pos : pos+i]
		s := relocate.Span{Start: int32(pos + i), End: int32(pos + i + len(old)), At: int32(len(made))}
		made += ref
		s.To = int32(len(made))
		spans, pos = append(spans, s), pos+i+len(old)
	}
}

// check reads every document, and says how many packs of documents as they came there are.
func (h *oneOffSite) check() (came int) {
	h.t.Helper()
	r := bodies.NewFrameReader()
	for _, rec := range resources(h.t, h.s) {
		f, err := h.s.Frames.ReadFrame(r, rec.At)
		if err != nil {
			h.t.Errorf("%s: %v", rec.URL, err)
			continue
		}
		if string(f.Body) != h.body[rec.ID] || string(f.Links) != "links" {
			h.t.Errorf("%s: %q, links %q", rec.URL, f.Body, f.Links)
		}
		if err := f.Check(rec.ID, rec.Digest); err != nil {
			h.t.Errorf("%s: %v", rec.URL, err)
		}
	}
	packs, err := h.s.Frames.Packs.AsTheyCame()
	if err != nil {
		h.t.Fatal(err)
	}
	return len(packs)
}

func newOneOff(t *testing.T, dir string) *oneOffSite {
	_, s := openTest(t, dir, oneOff)
	h := &oneOffSite{t: t, s: s}
	h.come("no link at all " + strings.Repeat("x", 5000))
	h.come("ABSOLUTE at the start, ABSOLUTEABSOLUTE twice and at the end ABSOLUTE")
	h.come("")
	h.come("large, and not put together with its file: ABSOLUTE")
	h.come("\xff\xfe no text: \x00 ABSOLUTE " + string(random(3000, 1)))
	return h
}

func notThird(id int) bool { return id != 3 }

// The documents of a one-off mirror are read from the published files and their rests, also after a version
// in which the files are other ones.
func TestRests(t *testing.T) {
	h := newOneOff(t, t.TempDir())
	if h.check() != 1 {
		t.Error("documents are not kept as they came")
	}
	h.publish(1, notThird)
	if h.check() != 1 {
		t.Error("documents went before they were settled")
	}
	for range 2 { // a second time does nothing
		if err := h.s.Records.Rests().Settle(); err != nil {
			t.Fatal(err)
		}
		if h.check() != 0 {
			t.Error("documents are still kept as they came")
		}
	}
	h.come("came with the second version: ABSOLUTE")
	h.publish(2, func(int) bool { return true })
	if err := h.s.Records.Rests().Settle(); err != nil {
		t.Fatal(err)
	}
	if h.check() != 0 {
		t.Error("documents of the second version are still kept as they came")
	}
	if _, err := h.s.Compact(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	h.check()
}

// A kill between a version and its rests loses nothing: the next one that opens the site settles it.
func TestRestsKilled(t *testing.T) {
	dir := t.TempDir()
	h := newOneOff(t, dir)
	type kill struct{ step, dir string }
	var kills []kill
	h.s.Step = func(step string) { kills = append(kills, kill{step, copyState(t, dir)}) }
	h.publish(1, notThird)
	if err := h.s.Records.Rests().Settle(); err != nil {
		t.Fatal(err)
	}
	if len(kills) < 5 {
		t.Errorf("only %d steps: %v", len(kills), kills)
	}
	for i, k := range kills {
		t.Run(fmt.Sprint(i, " ", k.step), func(t *testing.T) {
			_, s := openTest(t, k.dir, oneOff)
			again := &oneOffSite{t: t, s: s, body: h.body}
			live, err := s.Versions.List()
			if err != nil {
				t.Fatal(err)
			}
			again.check()
			if err := s.Records.Rests().Settle(); err != nil {
				t.Fatal(err)
			}
			if came := again.check(); (came == 0) != (len(live) > 0) {
				t.Errorf("%d packs as they came, %d versions", came, len(live))
			}
		})
	}
}

// A file that is not what was published gives no document, and the error names it.
func TestRestsOfAnotherFile(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"edited":    func(file string) error { return os.WriteFile(file, []byte("mine"), 0o644) },
		"same size": func(file string) error { return flipByte(file) },
		"removed":   os.Remove,
		"a folder":  func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, s := openTest(t, dir, oneOff, upkeep.BadFrame)
			h := &oneOffSite{t: t, s: s}
			h.come("one ABSOLUTE link")
			h.publish(1, notThird)
			if err := s.Records.Rests().Settle(); err != nil {
				t.Fatal(err)
			}
			tree, err := filepath.EvalSymlinks(filepath.Join(s.Dir, "current"))
			if err != nil {
				t.Fatal(err)
			}
			if err := change(filepath.Join(tree, "dir/0.html")); err != nil {
				t.Fatal(err)
			}
			for _, rec := range resources(t, s) {
				_, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
				if !errors.Is(err, disk.ErrDamaged) || !strings.Contains(err.Error(), "dir/0.html") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func flipByte(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[0] ^= 1
	return os.WriteFile(file, data, 0o644)
}
