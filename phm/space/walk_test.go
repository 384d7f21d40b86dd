// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/internal/regular"
	"mirrord/phm"
)

// world is a state with published trees, made without an engine, and what must come of it.
type world struct {
	t         testing.TB
	dir       string
	sites     map[string]*testSite
	members   map[string]bool
	locked    map[string]bool // cannot be opened
	redirects map[string]map[string]string
	urls      map[string]string // by mirror and path, where they are not those of urlOf
	fresh     []string
	opened    []string
	repair    map[string]bool              // mirrors that repair
	gone      map[string]map[string]string // by mirror and URL: last copies
	seen      map[string]int64             // of last copies, by mirror
	repaired  map[string]string            // by mirror and path: the repaired links of the line
	step      func(string)
	log       bytes.Buffer
}

// testSite is a published mirror.
type testSite struct {
	version int
	table   string
	places  []string
	files   map[string]string // by path, as published
}

func newWorld(t testing.TB) *world {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sites"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &world{
		t:         t,
		dir:       dir,
		sites:     map[string]*testSite{},
		members:   map[string]bool{},
		locked:    map[string]bool{},
		redirects: map[string]map[string]string{},
		urls:      map[string]string{},
	}
}

func (w *world) urlOf(name, p string) string {
	if u := w.urls[name+"/"+p]; u != "" {
		return u
	}
	return "http://" + name + ".example/" + p
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// publish makes the next version of a mirror of http://NAME.example/.
func (w *world) publish(name string, files map[string]string) {
	w.t.Helper()
	s := w.sites[name]
	if s == nil {
		s = &testSite{places: []string{name + ".example/"}}
		w.sites[name] = s
	}
	s.version++
	s.files = files
	tree := fmt.Sprintf("trees/%06d", s.version)
	dir := filepath.Join(w.dir, "sites", name, tree)
	w.must(os.MkdirAll(dir, 0o755))
	var table, meta bytes.Buffer
	fw := phm.NewFilesWriter(&table)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, p), []byte(files[p]), 0o644))
		sum := sha256.Sum256([]byte(files[p]))
		f := phm.File{Path: p, URL: w.urlOf(name, p), Size: int64(len(files[p]))}
		f.SHA256 = hex.EncodeToString(sum[:])
		f.Type = map[string]string{".html": "text/html", ".png": "image/png"}[path.Ext(p)]
		if links := w.repaired[name+"/"+p]; links != "" {
			f.Extra = map[string]json.RawMessage{repairField: json.RawMessage(links)}
		}
		w.must(fw.Write(&f))
	}
	sums, err := fw.Finish()
	w.must(err)
	m := &phm.Meta{
		Entry:   slices.Sorted(maps.Keys(files))[0],
		Primary: "http://" + name + ".example",
		Version: s.version,
		Title:   "Site " + name,
	}
	m.Count(sums)
	w.must(phm.WriteMeta(&meta, m))
	w.must(os.WriteFile(filepath.Join(dir, phm.FilesName), table.Bytes(), 0o644))
	w.must(os.WriteFile(filepath.Join(dir, phm.MetaName), meta.Bytes(), 0o644))
	s.table = sums.SHA256
	link := filepath.Join(w.dir, "sites", name, "current")
	os.Remove(link)
	w.must(os.Symlink(tree, link))
}

func (w *world) options() Options {
	return Options{
		State: w.dir,
		Name:  "s",
		Members: func() (ms []Member, err error) {
			for name := range w.members {
				if s := w.sites[name]; s != nil {
					ms = append(ms, Member{
						Name:    name,
						Version: s.version,
						Table:   s.table,
						Places:  s.places,
						Repair:  w.repair[name],
					})
				}
			}
			return ms, nil
		},
		Open: func(name string) (*Source, error) {
			if w.locked[name] {
				return nil, errors.New("it is locked")
			}
			w.opened = append(w.opened, name)
			folder := path.Join("sites", name, fmt.Sprintf("trees/%06d", w.sites[name].version))
			root, err := regular.OpenRoot(filepath.Join(w.dir, folder))
			if err != nil {
				return nil, err
			}
			return &Source{
				Tree:      root,
				Folder:    folder,
				Redirects: w.redirects[name],
				Close:     root.Close,
				Gone:      func() ([]string, error) { return slices.Sorted(maps.Keys(w.gone[name])), nil },
				Last:      func(urls []string) (Lasts, error) { return w.lasts(name, urls), nil },
			}, nil
		},
		Fresh: w.fresh,

		Volatile: true,
		Log:      slog.New(slog.NewTextHandler(&w.log, nil)),
		step:     w.step,
	}
}

// lasts writes last copies.
func (w *world) lasts(name string, urls []string) (l Lasts) {
	w.t.Helper()
	l.Folder = path.Join(Folder, "s", "last")
	dir := filepath.Join(w.dir, l.Folder)
	w.must(os.RemoveAll(dir))
	w.must(os.MkdirAll(filepath.Join(dir, LastFolder), 0o755))
	for _, u := range urls {
		text := w.gone[name][u]
		sum := sha256.Sum256([]byte(text))
		f := phm.File{Path: path.Join(LastFolder, path.Base(u)), URL: u, Size: int64(len(text))}
		f.SHA256, f.Type = hex.EncodeToString(sum[:]), map[string]string{".html": "text/html"}[path.Ext(u)]
		w.must(os.WriteFile(filepath.Join(dir, f.Path), []byte(text), 0o644))
		l.Files, l.Of = append(l.Files, f), append(l.Of, LastCopy{Version: 1, Seen: w.seen[name]})
	}
	return l
}

func (w *world) update() Refreshed {
	w.t.Helper()
	r, err := Update(w.t.Context(), w.options())
	w.must(err)
	return r
}

// errKilled is where a test stops the world.
var errKilled = errors.New("killed")

// killed updates the space and stops at a step; false: it was done before.
func (w *world) killed(at int) (stopped bool) {
	w.t.Helper()
	defer func() {
		w.step = nil
		if r := recover(); r == errKilled {
			stopped = true
		} else if r != nil {
			panic(r)
		}
	}()
	n := 0
	w.step = func(string) {
		if n++; n > at {
			panic(errKilled)
		}
		w.noDangling()
	}
	w.update()
	return false
}

// files are the files of the space that are there, by path.
func (w *world) files() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	dir := filepath.Join(w.dir, FilesDir("s"))
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			data, rerr := os.ReadFile(p)
			w.must(rerr)
			rel, _ := filepath.Rel(dir, p)
			out[rel] = string(data)
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		w.must(err)
	}
	return out
}

// refs are the values of href and src of a page.
func refs(page string) (out []string) {
	for _, name := range []string{`href="`, `src="`} {
		for rest := page; ; {
			_, after, ok := strings.Cut(rest, name)
			if !ok {
				break
			}
			ref, tail, _ := strings.Cut(after, `"`)
			out, rest = append(out, ref), tail
		}
	}
	return out
}

// noDangling checks that each link from one mirror to another is to a file.
func (w *world) noDangling() {
	w.t.Helper()
	files := w.files()
	for p, body := range files {
		for _, ref := range refs(body) {
			if !strings.Contains(ref, "@@") || p == indexName {
				continue
			}
			ref, _, _ = strings.Cut(ref, "#")
			if to := path.Join(path.Dir(p), ref); files[to] == "" {
				w.t.Errorf("%s links to %s, which is missing", p, to)
			}
		}
	}
}

// want is what the space must have: slow and obvious.
func (w *world) want() map[string]string {
	out := map[string]string{}
	for name, s := range w.sites {
		if !w.members[name] {
			continue
		}
		for p, body := range s.files {
			if strings.HasSuffix(p, ".html") {
				for _, ref := range refs(body) {
					u, frag, has := strings.Cut(ref, "#")
					if to, part := w.leads(name, u); to != "" {
						rel, _ := filepath.Rel(path.Dir("@@"+name+"/"+p), to)
						rel = strings.ReplaceAll(rel, "%", "%25")
						switch {
						case part != "":
							rel += "#" + part
						case has:
							rel += "#" + frag
						}
						body = strings.ReplaceAll(body, `"`+ref+`"`, `"`+rel+`"`)
					}
				}
			}
			out["@@"+name+"/"+p] = body
		}
	}
	return out
}

// leads is where a link from a mirror leads, and the fragment that a redirect names; "" to the origin.
func (w *world) leads(from, u string) (to, part string) {
	if !strings.HasPrefix(u, "http") {
		return "", ""
	}
	narrow := -1
	for _, name := range slices.Sorted(maps.Keys(w.sites)) {
		if !w.members[name] {
			continue
		}
		end, frag := u, ""
		if r := w.redirects[name][u]; r != "" {
			end, frag, _ = strings.Cut(r, "#")
		}
		for p := range w.sites[name].files {
			if w.urlOf(name, p) != end {
				continue
			}
			if name == from {
				return "", ""
			}
			if n := narrowness(w.sites[name].places, u); n > narrow {
				to, part, narrow = "@@"+name+"/"+p, frag, n
			}
		}
	}
	return to, part
}

// check compares the space with what it must have.
func (w *world) check(what string) {
	w.t.Helper()
	got := w.files()
	delete(got, indexName)
	want := w.want()
	for p := range want {
		if got[p] != want[p] {
			w.t.Errorf("%s: %s is\n%s\nwant\n%s", what, p, got[p], want[p])
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			w.t.Errorf("%s: %s is there", what, p)
		}
	}
	if len(want) > 0 {
		findings, err := Verify(w.dir, "s", "")
		w.must(err)
		if len(findings) > 0 {
			w.t.Errorf("%s: verify says %q", what, findings)
		}
	} else if _, err := os.Stat(filepath.Join(w.dir, Folder)); !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("%s: the folder of spaces is there: %v", what, err)
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// published are the published trees as they lie on the disk.
func (w *world) published() string {
	w.t.Helper()
	var b strings.Builder
	w.must(filepath.WalkDir(filepath.Join(w.dir, "sites"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		fi, err := os.Lstat(p)
		w.must(err)
		data, err := os.ReadFile(p)
		if fi.Mode().IsRegular() {
			w.must(err)
		}
		fmt.Fprintln(&b, p, fi.Mode(), fi.Size(), fi.ModTime(), sha256.Sum256(data))
		return nil
	}))
	return b.String()
}

// site makes the files of a version at random. Each page links to pages of all mirrors, held or not.
func (w *world) site(r *rand.Rand, name string, names []string) map[string]string {
	files := map[string]string{"index.html": ""}
	some := []string{"a.html", "b.html", "dir/c.html", "dir/deep/d.html", "x.png", "dir/y.png", "b.html/z.png"}
	for _, p := range some {
		if r.IntN(3) > 0 && !(p == "b.html/z.png" && files["b.html"] != "") {
			files[p] = "picture " + name + p
		}
	}
	if files["b.html"] != "" {
		delete(files, "b.html/z.png")
	}
	all := []string{"index.html", "a.html", "b.html", "dir/c.html", "dir/deep/d.html", "x.png", "old"}
	for p := range files {
		if !strings.HasSuffix(p, ".html") {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><title>%s %s</title>", name, p)
		for range r.IntN(4) {
			u := w.urlOf(names[r.IntN(len(names))], all[r.IntN(len(all))])
			if strings.HasSuffix(u, ".png") {
				fmt.Fprintf(&b, `<img src="%s">`, u)
			} else if r.IntN(2) == 0 {
				fmt.Fprintf(&b, `<a href="%s#f">x</a>`, u)
			} else {
				fmt.Fprintf(&b, `<a href="%s">x</a>`, u)
			}
		}
		files[p] = b.String()
	}
	return files
}

// After any sequence of mirrors that come, change, go back, shrink and leave, with kills anywhere, a
// space has what a slow computation says, no link is dangling at any moment, and no mirror is touched.
func TestWalk(t *testing.T) {
	walks := 5
	if os.Getenv("MIRRORD_LONG") != "" {
		walks = 60
	}
	for n := range walks {
		walk(t, uint64(n)+1)
	}
}

func walk(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	w := newWorld(t)
	names := []string{"a", "b", "c", "d"}
	var older []map[string]string
	for i := range 14 {
		name := names[r.IntN(len(names))]
		switch what := r.IntN(8); {
		case what == 0:
			delete(w.members, name)
		case what == 1 && len(older) > 0 && w.sites[name] != nil: // back to some older state
			w.publish(name, older[r.IntN(len(older))])
		case what == 2 && w.sites[name] != nil:
			end := []string{"a.html", "index.html", "a.html#x", "index.html#y"}[r.IntN(4)]
			w.redirects[name] = map[string]string{w.urlOf(name, "old"): w.urlOf(name, end)}
			w.fresh = []string{name}
		case what == 3 && w.sites[name] != nil:
			wider := []string{"*.example", "a.example/dir/"}[r.IntN(2)]
			w.sites[name].places = []string{name + ".example/", wider}
		default:
			files := w.site(r, name, names)
			older = append(older, files)
			w.publish(name, files)
			w.members[name] = true
		}
		before := w.published()
		if r.IntN(2) == 0 {
			w.killed(r.IntN(12))
			w.noDangling()
			if r.IntN(2) == 0 { // and something else happens before the next one
				continue
			}
		}
		w.update()
		w.fresh = nil
		w.check(fmt.Sprintf("walk %d, step %d", seed, i))
		if w.published() != before {
			t.Fatalf("walk %d: a mirror was touched", seed)
		}
	}
	before := w.published()
	clear(w.members)
	w.update()
	w.check(fmt.Sprintf("walk %d, at the end", seed))
	if w.published() != before {
		t.Fatalf("walk %d: a mirror was touched by the last drop", seed)
	}
}
