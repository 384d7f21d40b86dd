// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// edition is a site on the disk whose versions are made through the two doors.
type edition struct {
	t    *testing.T
	site *store.Site
	recs []record.Resource
}

func newEdition(t *testing.T) *edition {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s, err := st.OpenSite("h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &edition{t: t, site: s}
}

// put stores a page as it was fetched for a version. Its links lead to the pages that are known by now.
func (e *edition) put(id int, name, body string, version int) {
	e.t.Helper()
	var doc relocate.Doc
	if err := doc.Scan([]byte(body), relocate.Input{URL: url(name), Format: relocate.HTML}); err != nil {
		e.t.Fatal(err)
	}
	links := render.AppendLinks(nil, &doc, func(int) (uint32, bool) { return 0, false })
	rec := record.Resource{
		ID:      uint32(id),
		URL:     url(name),
		Outcome: site.Fetched,
		InSet:   true,
		MIME:    "text/html",
		Path:    name,
		Size:    int64(len(body)),
		Digest:  sha256.Sum256([]byte(body)),
		Body:    record.PackBody,
		Changed: version,
		Fetched: 1e9,
		Run:     version,
	}
	w := e.site.Frames.NewFrameWriter()
	var err error
	if rec.At, err = e.site.Frames.AppendFrame(w, bodies.FrameMetaOf(&rec), links, []byte(body)); err != nil {
		e.t.Fatal(err)
	}
	if id == len(e.recs) {
		rec.Moved = version
		e.recs = append(e.recs, rec)
	}
	e.recs[id] = rec
}

// open starts a draft of a version.
func (e *edition) open(version int) *Draft {
	e.t.Helper()
	table := urls.New().Settled()
	table.Reserve(uint32(len(e.recs)))
	list := recordList{}
	for i := range e.recs {
		table.Load(&e.recs[i], urls.Run{Number: version, Version: version})
		list[e.recs[i].URL.String()] = e.recs[i]
	}
	b := Basis{
		Table:  table,
		Links:  func(func(uint32, []byte) error) error { return nil },
		Covers: func(site.URL) bool { return true },
		Seeds:  []site.URL{url("index.html")},
		Meta:   phm.Meta{Generator: "test", Version: version, Primary: "http://h.example"},
	}
	vs, err := e.site.Versions.List()
	if err != nil {
		e.t.Fatal(err)
	}
	if len(vs) > 0 {
		b.Live = &vs[len(vs)-1]
	}
	plan, err := NewPlan(b)
	if err != nil {
		e.t.Fatal(err)
	}
	d, err := Open(plan, Means{
		Trees:    e.site.Trees,
		Records:  list,
		Renderer: &render.Renderer{Table: table, Frames: e.site.Frames},
		Counts:   new(urls.Counts),
		Now:      time.Now,
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { d.Close() })
	return d
}

// current reads a published file.
func (e *edition) current(name string) string {
	e.t.Helper()
	tree, err := e.site.Trees.Current()
	if err != nil {
		e.t.Fatal(err)
	}
	defer tree.Close()
	b, err := tree.ReadFile(name, regular.MaxSmall)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.t.Fatal(err)
	}
	return string(b)
}

// Two versions are made through the doors alone: documents are placed one by one, in any order, as a
// retrieval could, and the version is finished with the list of what changed. It is not visible before
// Publish.
func TestDoors(t *testing.T) {
	e := newEdition(t)
	e.put(0, "index.html", `<a href="http://h.example/a.html">a</a>`, 1)
	e.put(1, "a.html", `a`, 1)
	d := e.open(1)
	first := e.finish(d, map[uint32]*phm.File{0: nil, 1: nil})
	if _, err := e.site.Trees.Current(); !errors.Is(err, record.ErrNoVersion) {
		t.Errorf("before Publish: %v", err)
	}
	if res := &d.result; res.Added != 2 || res.Changed+res.Removed != 0 || res.Same() || len(res.script()) != 0 {
		t.Errorf("%+v", res)
	}
	v, err := d.Publish(false, 0)
	if err != nil || v.Number != 1 || v.Files != 2 {
		t.Fatal(v, err)
	}
	if got := e.current("index.html"); got != `<a href="a.html">a</a>` {
		t.Errorf("index.html is %q", got)
	}

	e.put(0, "index.html", `<a href="http://h.example/a.html">b</a>`, 2)
	d = e.open(2)
	e.finish(d, map[uint32]*phm.File{0: first[0], 1: first[1]})
	res, script := &d.result, string(d.result.script())
	if res.Changed != 1 || res.Added+res.Removed != 0 || !strings.HasPrefix(script, "~") {
		t.Errorf("%+v: %q", res, script)
	}
	if _, err := d.Publish(false, 0); err != nil {
		t.Fatal(err)
	}
	if e.current("index.html") != `<a href="a.html">b</a>` || e.current("a.html") != "a" {
		t.Errorf("%q, %q", e.current("index.html"), e.current("a.html"))
	}
}

// finish places files, the last one first, and finishes the draft. was are the published lines.
func (e *edition) finish(d *Draft, was map[uint32]*phm.File) map[uint32]*phm.File {
	e.t.Helper()
	p := d.Placer()
	defer p.Close()
	lines := map[uint32]*phm.File{}
	for i := len(d.plan.Files) - 1; i >= 0; i-- {
		id := d.plan.Files[i]
		task := Placing{ID: id, Was: was[id]}
		f, stays, err := p.stay(e.t.Context(), &task)
		if (err == nil) && !stays {
			p.stored = []stored{{i: 0}}
			if err = p.read(&chunk{window: &window{tasks: []Placing{task}}}); err == nil {
				f, err = p.make(e.t.Context(), &task, &p.stored[0].rec)
			}
		}
		if err != nil {
			e.t.Fatal(err)
		}
		lines[id] = &f
	}
	_, err := d.Finish(func(add func(FileFate) error) error {
		for _, id := range d.plan.Files {
			if err := add(FileFate{Was: was[id], Is: lines[id]}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return lines
}

// Build goes through the same doors, finds every damaged body before it ends, and names them.
func TestBuildDamaged(t *testing.T) {
	e := newEdition(t)
	for i, name := range []string{"index.html", "a.html", "b.html"} {
		e.put(i, name, name, 1)
	}
	e.recs[1].At.Off += 7
	e.recs[2].Body = record.NoBody
	_, err := e.open(1).Build(t.Context())
	bad, ok := errors.AsType[*BodiesError](err)
	if !ok || !errors.Is(err, disk.ErrDamaged) || len(bad.IDs) != 2 || bad.IDs[0] != 1 || bad.IDs[1] != 2 {
		t.Fatalf("%#v", err)
	}
	rec := e.recs[1]
	LoseBody(&rec)
	if rec.Digest != [32]byte{} || rec.Outcome != site.Failed || rec.Reason == "" {
		t.Errorf("%+v", rec)
	}
}
