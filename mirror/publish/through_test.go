// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// came is a mirror on its way: answers come in any order, some twice.
type came struct {
	t       *testing.T
	read    atomic.Int64 // documents that were read
	site    *store.Site
	table   *urls.Table
	through *Through
	writer  *ThroughWriter
	done    []*store.Done
	records recordList
	targets map[uint32][]byte
	cures   map[string]render.Cure
	named   int // documents that are read all the same: they may link to a URL that got its number later
}

var firstRun = urls.Run{Number: 1, Version: 1}

// ReadFrame implements render.FrameSource.
func (c *came) ReadFrame(r *store.FrameReader, at store.Place) (store.Frame, error) {
	c.read.Add(1)
	return c.site.Frames.ReadFrame(r, at)
}

// kinds are the mirrors that documents are written through for.
var kinds = []struct {
	name   string
	oneOff bool
}{{"one-off", true}, {"kept", false}}

func newCame(t *testing.T, oneOff bool) *came {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true, OneOff: oneOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s, err := st.OpenSite("h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := &came{
		t:       t,
		site:    s,
		table:   urls.New(),
		records: recordList{},
		targets: map[uint32][]byte{},
	}
	c.through = NewThrough(ThroughOptions{
		Table:  c.table,
		Seeds:  []site.URL{url("")},
		Frames: c,
		Trees:  s.Trees,
		Rests:  s.Rests(),
		Log:    slog.New(slog.DiscardHandler),
	})
	c.writer = c.through.Writer()
	t.Cleanup(c.through.Stop)
	return c
}

// admit gives a URL a number, and lets it wait for its answer.
func (c *came) admit(name string) uint32 {
	id, _ := urls.Enter(c.table, []byte(url(name).String()), urls.Named)
	return id
}

// answer records what became of a URL.
func (c *came) answer(rec store.Resource, body string) {
	c.t.Helper()
	id, ok := c.table.Find([]byte(rec.URL.String()))
	if !ok {
		c.t.Fatal(rec.URL)
	}
	rec.ID, rec.Run, rec.Changed, rec.Moved, rec.Fetched = id, 1, 1, 1, 1e9
	var targets []uint32
	if rec.InSet {
		targets = c.store(&rec, body)
	}
	c.table.Record(&rec, firstRun)
	c.records[rec.URL.String()] = rec
	c.done = append(c.done, &store.Done{Resource: rec})
	c.targets[id] = store.AppendTargets(nil, targets)
	c.through.Came(&rec)
}

// store appends a document, of which links lead to numbers as far as they are given.
func (c *came) store(rec *store.Resource, body string) (targets []uint32) {
	c.t.Helper()
	var doc relocate.Doc
	if err := doc.Scan([]byte(body), relocate.Input{URL: rec.URL, Format: relocate.HTML}); err != nil {
		c.t.Fatal(err)
	}
	links := c.writer.AppendLinks(nil, &doc, len(body), func(i int) (uint32, bool) {
		id, ok := c.table.Find(doc.Links[i].URL)
		if ok {
			targets = append(targets, id)
		}
		return id, ok
	})
	slices.Sort(targets)
	rec.MIME, rec.Body = "text/html", store.PackBody
	rec.Size, rec.Digest = int64(len(body)), sha256.Sum256([]byte(body))
	at, ok, err := c.writer.Write(rec, links, []byte(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if rec.At = at; ok {
		return slices.Compact(targets)
	}
	w := c.site.Frames.NewFrameWriter()
	if rec.At, err = c.site.Frames.GatherFrame(w, store.FrameMetaOf(rec), links, []byte(body)); err != nil {
		c.t.Fatal(err)
	}
	return slices.Compact(targets)
}

// written returns how many files were written through, and stay once a draft has taken the tree.
func (c *came) written() (n int) {
	for range c.through.placed.All() {
		n++
	}
	for range c.through.taken.All() {
		n++
	}
	return n
}

// build makes the version, and returns its files with their contents. It is not published.
func (c *came) build(through *Through) map[string]string {
	c.t.Helper()
	t := c.table.Settled()
	plan, err := NewPlan(Basis{Table: t, Seeds: []site.URL{url("")}, Meta: phm.Meta{Version: 1}})
	if err != nil {
		c.t.Fatal(err)
	}
	d, err := Open(plan, Means{
		Trees:   c.site.Trees,
		Records: c.records,
		Renderer: &render.Renderer{
			Table:  t,
			Frames: c,
			Shared: render.SharedURLs(t),
			Cures:  c.cures,
		},
		Counts:  new(urls.Counts),
		Rests:   c.site.Rests(),
		Through: through,
		Links: func(f func(uint32, []byte) error) error {
			for id, list := range c.targets {
				if err := f(id, list); err != nil {
					return err
				}
			}
			return nil
		},
		Now: func() time.Time { return time.Unix(2e9, 0) },
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Build(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	files := map[string]string{}
	err = fs.WalkDir(d.tree.Root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := d.tree.Root.ReadFile(p, regular.MaxSmall)
		info, ierr := e.Info()
		if files[p] = string(b); err == nil && ierr == nil && !strings.HasPrefix(p, "phm.") {
			files[p] += info.ModTime().UTC().String()
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// finish compares the version with the files that were written through with that of the documents as they
// came. It returns how many of them stay.
func (c *came) finish() (stay int) {
	c.t.Helper()
	c.through.Stop()
	if err := c.site.Records.Commit(0, nil, c.done); err != nil {
		c.t.Fatal(err)
	}
	_, err := AssignNames(Naming{
		Table:   c.table.Settled(),
		Layout:  phm.Layout{Primary: "http://h.example"},
		Records: c.records,
		Journal: func(func(uint32) bool, func(*store.Resource)) error { return nil },
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	got := c.build(c.through)
	stay = c.written()
	if read, made := int(c.read.Load()), len(got)-2-stay; read > made+c.named {
		c.t.Errorf("%d documents were read for %d files", read, made)
	}
	if err := c.through.Discard(); err != nil {
		c.t.Error(err)
	}
	for p := range got { // the draft has not lost any
		if _, err := os.Stat(filepath.Join(c.site.Dir(), "trees", "next", p)); err != nil {
			c.t.Error(err)
		}
	}
	want := c.build(nil) // which recovers the documents
	if !maps.Equal(got, want) {
		for p := range want {
			if got[p] != want[p] {
				c.t.Errorf("%s:\n%s\nwant\n%s", p, got[p], want[p])
			}
		}
		c.t.Errorf("files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	return stay
}

func found(name string) store.Resource {
	return store.Resource{URL: url(name), Outcome: site.Fetched, InSet: true}
}

func gone(name string) store.Resource { return store.Resource{URL: url(name), Outcome: site.Gone} }

// Files that are written through stay where they prove right, and are made again where they do not.
func TestThrough(t *testing.T) {
	for _, x := range []struct {
		name       string
		run        func(c *came)
		made, stay int
	}{
		{"all is right", func(c *came) {
			c.answer(gone("gone"), "")
			c.answer(found("b.html"), `<a href="a.html">a</a> <a href="gone">g</a> <a href="http://x.example/">x</a>`)
		}, 3, 3},
		{"a page is gone after its links were made", func(c *came) {
			c.answer(found("b.html"), `<a href="gone">g</a>`)
			c.answer(gone("gone"), "")
			c.admit("c.html")
			c.answer(found("c.html"), `<a href="gone">g</a>`)
		}, 4, 3},
		{"an answer is missing", func(c *came) {
			c.answer(found("b.html"), `<a href="gone">g</a>`)
		}, 3, 2},
		{"a page went after it came", func(c *came) {
			c.answer(found("b.html"), `b`)
			c.answer(gone("b.html"), ``)
		}, 3, 1},
		{"a page came again", func(c *came) {
			c.answer(found("b.html"), `b`)
			c.answer(found("b.html"), `other`)
		}, 3, 2},
		{"a page came again, too large to be written through", func(c *came) {
			c.answer(found("b.html"), `b`)
			c.answer(found("b.html"), strings.Repeat("other ", render.LargestRest/6+1))
			c.named++
		}, 3, 3},
		{"a large page links to a page that is gone", func(c *came) {
			const link = `<a href="gone">g</a> <a href="a.html">a</a>` + "\n"
			c.answer(found("b.html"), strings.Repeat(link, render.SmallDocument/len(link)+1))
			c.answer(gone("gone"), "")
		}, 3, 2},
		{"a large page is right", func(c *came) {
			const link = `<a href="http://h.example/">start</a>` + "\n"
			c.answer(found("b.html"), strings.Repeat(link, render.SmallDocument/len(link)+1))
		}, 3, 3},
		{"a file replaces a folder, and cases", func(c *came) {
			for _, name := range []string{"b", "B", "b/c"} {
				c.admit(name)
				c.answer(found(name), `<a href="/">start</a>`)
			}
			c.answer(found("b.html"), `<a href="B">B</a> <a href="b/c">b</a>`)
		}, 5, 3},
		{"a URL gets a number late", func(c *came) {
			c.answer(found("b.html"), `<a href="late">late</a>`)
			c.named++
			c.admit("late")
			c.answer(found("late"), `late`)
		}, 4, 3},
		{"a type is another one", func(c *came) {
			c.admit("list.php")
			c.answer(found("b.html"), `<a href="list.php">l</a>`)
			c.answer(found("list.php"), `list`)
		}, 4, 4},
		{"a redirect leads on, and elsewhere", func(c *came) {
			to := c.admit("to.html")
			c.answer(found("b.html"), `<a href="gone">g</a>`)
			c.answer(store.Resource{URL: url("gone"), Outcome: site.Redirected, Target: 1 + to}, "")
			c.admit("c.html")
			c.answer(found("c.html"), `<a href="gone">g</a>`)
			c.answer(gone("to.html"), "")
			c.admit("d.html")
			c.answer(found("d.html"), `<a href="gone">g</a>`)
		}, 5, 3},
		{"twins of other bytes", func(c *came) {
			c.admit("index.html")
			c.answer(found("index.html"), `other`)
			c.answer(found("b.html"), `<a href="index.html">i</a>`)
		}, 3, 2},
		{"twins", func(c *came) {
			c.admit("index.html")
			c.answer(found("index.html"), entryPage)
			c.answer(found("b.html"), `<a href="./index.html">i</a> <a href="/">i</a>`)
		}, 3, 3},
	} {
		for _, kind := range kinds {
			t.Run(kind.name+", "+x.name, func(t *testing.T) {
				c := newCame(t, kind.oneOff)
				for _, name := range []string{"", "a.html", "b.html", "gone"} {
					c.admit(name)
				}
				c.answer(found(""), entryPage)
				c.answer(found("a.html"), `<a href="/">start</a>`)
				x.run(c)
				made := c.written()
				if stay := c.finish(); made != x.made || stay != x.stay {
					t.Errorf("%d files written through, of which %d stay; want %d and %d", made, stay, x.made, x.stay)
				}
			})
		}
	}
}

// A document whose file cannot be made is stored as it came.
func TestThroughFails(t *testing.T) {
	c := newCame(t, true)
	for _, name := range []string{"", "a.html", "b/c.html"} {
		c.admit(name)
	}
	c.answer(found(""), `<a href="a.html">a</a> <a href="b/c.html">c</a>`)
	if made := c.written(); made != 1 {
		t.Fatalf("%d files written through, want 1", made)
	}
	if err := c.through.tree.Root.WriteFile("b", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.answer(found("b/c.html"), `c`)
	if err := c.through.tree.Root.Remove("b"); err != nil {
		t.Fatal(err)
	}
	c.answer(found("a.html"), `<a href="/">start</a>`)
	if stay := c.finish(); stay != 2 {
		t.Errorf("%d files stay", stay)
	}
}

// Large documents of several writers at once take turns with the room in which they are made, and small ones
// between them have their own.
func TestThroughLarge(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) { throughLarge(t, newCame(t, kind.oneOff)) })
	}
}

func throughLarge(t *testing.T, c *came) {
	const pages = 40
	c.admit("")
	for i := range pages {
		c.admit(fmt.Sprintf("d/%d.html", i))
	}
	c.answer(found(""), entryPage)
	work := make(chan int, pages)
	for i := range pages {
		work <- i
	}
	close(work)
	var mu sync.Mutex // guards c
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			mine := &came{
				t:       t,
				site:    c.site,
				table:   c.table,
				through: c.through,
				writer:  c.through.Writer(),
			}
			for i := range work {
				size := 1_000
				if i%4 > 0 {
					size = render.KeptRoom + i*18_000 // some of more than SmallDocument
				}
				rec := found(fmt.Sprintf("d/%d.html", i))
				rec.ID, _ = c.table.Find([]byte(rec.URL.String()))
				rec.Run, rec.Changed, rec.Moved, rec.Fetched = 1, 1, 1, 1e9
				line := fmt.Sprintf(`<a href="http://h.example/">page %d</a>`+"\n", i)
				targets := mine.store(&rec, strings.Repeat(line, size/len(line)))
				mu.Lock()
				c.table.Record(&rec, firstRun)
				c.records[rec.URL.String()] = rec
				c.done = append(c.done, &store.Done{Resource: rec})
				c.targets[rec.ID] = store.AppendTargets(nil, targets)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if stay := c.finish(); stay != pages+1 {
		t.Errorf("%d files stay, want %d", stay, pages+1)
	}
}

const entryPage = `<a href="a.html">a</a> <a href="http://h.example/b.html">b</a>`

// Random answers in random orders make the same version with a Through and without.
func TestThroughRandom(t *testing.T) {
	names := []string{"", "index.html", "a.html", "A.html", "b", "b/", "b/index.html", "b/c", "c?d=1", "d.html",
		"e.html", "f/g/h.html", "late", "late.html"}
	made, stay := 0, 0
	for seed := range uint64(120) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := newCame(t, seed%2 == 0)
		if seed%3 == 0 {
			c.through.outlook.most = rnd.IntN(4)
		}
		some := func() string { return names[rnd.IntN(len(names))] }
		answer := func(name string) {
			switch k := rnd.IntN(10); {
			case name == "" || k < 7:
				var b strings.Builder
				for range rnd.IntN(4) {
					fmt.Fprintf(&b, `<a href="%s%s">x</a>`, []string{"", "/", "./", "http://h.example/"}[rnd.IntN(4)], some())
				}
				c.answer(found(name), b.String())
			case k < 8:
				rec := store.Resource{URL: url(name), Outcome: site.Redirected, Target: 1 + c.admit(some())}
				c.answer(rec, "")
			default:
				c.answer(gone(name), "")
			}
		}
		for _, name := range names[:12] {
			c.admit(name)
		}
		for _, i := range rnd.Perm(12) {
			answer(names[i])
		}
		for range rnd.IntN(3) {
			name := some()
			c.admit(name)
			answer(name)
		}
		for _, name := range names[12:] {
			if id, ok := c.table.Find([]byte(url(name).String())); ok && !c.table.State(id).Answered() {
				answer(name)
			}
		}
		c.named = c.written()
		made += c.named
		stay += c.finish()
	}
	if made == 0 || stay == 0 || stay == made {
		t.Errorf("%d files written through, of which %d stay", made, stay)
	}
}
