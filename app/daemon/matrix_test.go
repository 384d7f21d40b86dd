// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/fetch"
	"mirrord/phm"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/testing/apptest"
)

// diskHarm is one way in which a disk harms a stretch of a file.
type diskHarm struct {
	name string
	do   func(b []byte, from, to int) []byte // nil: the file is missing
}

func diskHarms() []diskHarm {
	return []diskHarm{
		{"bit flip", func(b []byte, from, to int) []byte { b[(from+to)/2] ^= 0x10; return b }},
		{"zeroed", func(b []byte, from, to int) []byte { clear(b[from:to]); return b }},
		{"cut", func(b []byte, from, to int) []byte { return b[:(from+to)/2] }},
		{"missing", func([]byte, int, int) []byte { return nil }},
	}
}

// harmed is one stretch of a file of a state.
type harmed struct {
	name     string
	path     string // below the state
	from, to int    // bytes; to 0: its end
	derived  bool   // the mirror does not depend on it
}

// every says of how many cases the sample has one: databases have many pages.
func (h *harmed) every() int {
	if strings.Contains(h.name, ".db page") {
		return 31
	}
	return 13
}

// diskMatrix is a state with three versions that is damaged again and again.
type diskMatrix struct {
	dir  string // as it is good
	url  string
	want map[int]map[string]string // files of each version
	at   *atomic.Int64             // what the site serves: the version

	found, repaired, named, harmless int
}

// newDiskMatrix makes the mirror.
func newDiskMatrix(t *testing.T) *diskMatrix {
	m := &diskMatrix{at: new(atomic.Int64), want: map[int]map[string]string{}}
	text := func(seed int64) string {
		var b strings.Builder
		for i := range int64(300) {
			fmt.Fprintf(&b, "%x ", (i+1)*(seed*seed+7)*2654435761)
		}
		return b.String()
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := m.at.Load()
		pages := map[string]string{
			"/":         `<title>entry</title><a href="a.html">a</a> <a href="/b.html">b</a> <img src="i.png">`,
			"/a.html":   `<title>a</title><p>` + text(1) + fmt.Sprint("version ", v),
			"/b.html":   `<title>b</title><p>` + text(10*v) + `<a href="http://` + r.Host + `/a.html">a</a>`,
			"/i.png":    "\x89PNG\r\n\x1a\n picture " + text(3),
			"/d/c.html": `<title>c</title><p><a href="../">home</a>` + text(4),
		}
		pages["/"] += `<a href="d/c.html">c</a>`
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasPrefix(body, "<") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		tag := fmt.Sprintf(`"%x"`, len(body)*1000+int(v))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	m.url, m.dir = srv.URL, filepath.Join(t.TempDir(), "state")
	a := m.app(t, m.dir)
	for v := 1; v <= 3; v++ {
		m.at.Store(int64(v))
		if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "x"}); err != nil {
			t.Fatal(err)
		}
		m.want[v] = m.export(t, a, v, true)
	}
	return m
}

// app is an environment for a copy of the state.
func (m *diskMatrix) app(t *testing.T, state string) *env.App {
	t.Helper()
	a := apptest.TestApp(state)
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "x.toml", "url = \""+m.url+"/\"\n"+`policy = "full"
polite.delay = "0s"
polite.factor = 0
limits.retries = 0
publish.keep = "all"
`)
	return a
}

// export reads a version. must says that it has to be there; else nil is an error that names the damage.
func (m *diskMatrix) export(t *testing.T, a *env.App, version int, must bool) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	_, err := archives.Export(t.Context(), a, archives.ExportRequest{
		Job:     "x",
		Out:     out,
		Format:  "dir",
		Version: version,
	})
	if err != nil {
		if must {
			t.Errorf("export of version %d: %v", version, err)
		}
		m.named++
		wantNamed(t, fmt.Sprint("export of version ", version), err)
		return nil
	}
	files := map[string]string{}
	err = fs.WalkDir(os.DirFS(out), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(out, p))
		files[p] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wantNamed wants an error to say that something is damaged, and not that the program is at fault.
func wantNamed(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*env.Error](err); ok && (e.Err == nil) {
		return // its summary says it
	}
	for _, bad := range []string{"panic", "fault of mirrord", "internal error", "runtime error"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !errors.Is(err, disk.ErrDamaged) && !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%s: the error does not say that something is damaged: %v", what, err)
	}
}

// exports compares what can be exported with what it should be.
func (m *diskMatrix) exports(t *testing.T, a *env.App, versions []int, must bool) {
	t.Helper()
	for _, v := range versions {
		got := m.export(t, a, v, must)
		for p, want := range m.want[v] {
			if got != nil && got[p] != want {
				t.Errorf("version %d: %s has %d other bytes than it had, %d", v, p, len(got[p]), len(want))
			}
		}
	}
}

// targets are what the test damages: each kind of file, and each page of the databases.
func (m *diskMatrix) targets(t *testing.T) (out []harmed) {
	t.Helper()
	site := "sites/x/"
	for _, f := range []string{"a.html", "b.html", "i.png", "phm.files", "phm.json"} {
		out = append(out, harmed{name: f, path: site + "current/" + f})
	}
	out = append(out,
		harmed{name: "trees", path: site + "trees"},
		harmed{name: "texts", path: site + "texts", derived: true},
	)
	blobs, err := filepath.Glob(m.dir + "/blobs/??/*")
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	rel, err := filepath.Rel(m.dir, blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, harmed{name: "blob", path: rel})
	at := map[record.Place]string{}
	st, err := store.OpenState(m.dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	err = env.View(st, "x", func(s *store.Site) error {
		return s.Records.Every(func(r *record.Resource) error {
			if r.Body == record.PackBody {
				at[r.At] = r.URL.Path()
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, u := range at {
		out = append(out, harmed{
			name: fmt.Sprintf("frame at %06d of %s", p.Off, u),
			path: fmt.Sprintf("%spacks/%06d.pack", site, p.Pack),
			from: int(p.Off),
			to:   int(p.Off) + int(p.Len),
		})
	}
	for _, db := range []string{site + "site.db", "mirror.db"} {
		data, err := os.ReadFile(filepath.Join(m.dir, db))
		if err != nil {
			t.Fatal(err)
		}
		size := os.Getpagesize()
		for i := 0; i < len(data); i += size {
			if bytes.Count(data[i:i+size], []byte{0}) == size {
				continue // was never used
			}
			out = append(out, harmed{
				name:    fmt.Sprintf("%s page %03d", filepath.Base(db), i/size),
				path:    db,
				from:    i,
				to:      i + size,
				derived: db == "mirror.db",
			})
		}
	}
	slices.SortFunc(out, func(a, b harmed) int { return strings.Compare(a.name, b.name) })
	return out
}

// harm damages one thing in a copy of the state. A bit that flips leaves the times of the file.
func (m *diskMatrix) harm(t *testing.T, state string, h harmed, how diskHarm) {
	t.Helper()
	name := filepath.Join(state, h.path)
	if fi, err := os.Stat(name); err != nil {
		t.Fatal(err)
	} else if fi.IsDir() {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	to := h.to
	if to == 0 {
		to = len(b)
	}
	if b = how.do(b, h.from, to); b == nil {
		err = os.Remove(name)
	} else {
		if _, err = f.WriteAt(b, 0); err == nil { // through all names of the file
			err = f.Truncate(int64(len(b)))
		}
		err = errors.Join(err, os.Chtimes(name, time.Time{}, fi.ModTime()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// diskAction is an operation on a mirror whose damage is not yet known.
type diskAction struct {
	name string
	do   func(t *testing.T, m *diskMatrix, a *env.App, h harmed)
}

func diskActions() []diskAction {
	return []diskAction{
		{"run", func(t *testing.T, m *diskMatrix, a *env.App, _ harmed) {
			if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "x"}); err != nil {
				wantNamed(t, "run", err)
			}
		}},
		{"verify", func(t *testing.T, m *diskMatrix, a *env.App, h harmed) {
			v, err := care.Verify(t.Context(), a, "x", true)
			switch {
			case err != nil:
				m.found++
				wantNamed(t, "verify", err)
			case v.Count() > 0:
				m.found++
			case h.name == "texts": // a cache
			case strings.HasPrefix(h.name, "mirror.db"): // a page that is not in use
				m.harmless++
			case strings.HasPrefix(h.name, "site.db"): // the same
				m.harmless++
				m.exports(t, a, []int{1, 2, 3}, true)
			default:
				t.Error("verify finds nothing")
			}
		}},
		{"verify --repair", func(t *testing.T, m *diskMatrix, a *env.App, _ harmed) {}},
		{"export", func(t *testing.T, m *diskMatrix, a *env.App, _ harmed) {
			m.exports(t, a, []int{1, 2, 3},
				false)
		}},
		{"rollback", func(t *testing.T, m *diskMatrix, a *env.App, _ harmed) {
			_, err := runs.Rollback(t.Context(), a, "x", 1)
			if err != nil {
				wantNamed(t, "rollback", err)
				return
			}
			if list, err := look.Versions(a, "x"); err == nil && len(list) == 4 {
				m.exports(t, a, []int{1, 4}, false)
			}
		}},
		{"status", func(t *testing.T, m *diskMatrix, a *env.App, h harmed) {
			s, err := look.JobStatus(a, "x", a.Clock())
			if err != nil {
				t.Fatal(err)
			}
			if h.name == "trees" && s.Health == status.OK {
				t.Errorf("status says %s", s.Say())
			}
		}},
		{"daemon", func(t *testing.T, m *diskMatrix, a *env.App, h harmed) {
			st, err := a.MustWriteState()
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			r := &runner{
				app:   a,
				st:    st,
				hosts: new(fetch.Hosts),
				most:  new(atomic.Int64),
			}
			j, err := a.FindJob("x")
			if err != nil {
				t.Fatal(err)
			}
			run := r.Run(t.Context(), j, scheduler.RunOptions{})
			if run.Error != "" {
				wantNamed(t, "daemon", errors.New(run.Error))
			}
		}},
	}
}

// What a disk does to a mirror: never a crash, never wrong bytes in a version that can be exported, always
// found by verify, repaired where the bytes exist on the disk or at the site, and else named. After each of
// these, verify --repair and a run restore everything that the site or the disk has.
func TestDiskMatrixInBulk(t *testing.T) {
	m := newDiskMatrix(t)
	all := os.Getenv("MIRRORD_LONG") != ""
	cases, n := 0, 0
	for _, h := range m.targets(t) {
		for i, how := range diskHarms() {
			if (h.from > 0 && how.name == "missing") || (h.name == "trees" && i > 0) {
				continue // the same as others
			}
			for _, action := range diskActions() {
				if n++; !all && n%h.every() != 0 {
					continue // a sample
				}
				cases++
				t.Run(h.name+"/"+how.name+"/"+action.name, func(t *testing.T) { m.one(t, h, how, action) })
			}
		}
	}
	t.Logf("%d of %d cases: %d found by verify, %d harmless, %d errors that name the damage, %d repaired",
		cases, n, m.found, m.harmless, m.named, m.repaired)
}

// A file table in which a bit has flipped is not copied: every version is exported as it was, from the stored
// bodies.
func TestExportDamagedTable(t *testing.T) {
	m := newDiskMatrix(t)
	all, err := filepath.Glob(m.dir + "/sites/x/trees/*/" + phm.FilesName)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[bytes.Index(b, []byte("/d/c.html"))+3]++ // of the URL
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.exports(t, m.app(t, m.dir), []int{1, 2, 3}, true)
}

// one damages a copy, performs an action, and repairs what can be repaired.
func (m *diskMatrix) one(t *testing.T, h harmed, how diskHarm, action diskAction) {
	state := filepath.Join(t.TempDir(), "state")
	if out, err := exec.Command("cp", "-a", m.dir, state).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := m.app(t, state)
	m.harm(t, state, h, how)
	action.do(t, m, a, h)
	_, err := care.Mend(t.Context(), a, "x", false)
	if err != nil {
		t.Errorf("verify --repair: %v", err)
	}
	runList := 1
	if action.name == "rollback" { // one that failed leaves a run to continue: the one after it requests more
		runList = 2
	}
	for range runList {
		if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "x"}); err != nil {
			t.Errorf("the run after it: %v", err)
		}
	}
	v, err := care.Verify(t.Context(), a, "x", true)
	if err != nil {
		t.Errorf("verify after it: %v", err)
		return
	}
	lost := map[int]bool{}
	for i := range v.Damaged {
		if v.Damaged[i].Present {
			t.Errorf("the present body is lost: %s", care.SayLost(&v.Damaged[i]))
		}
		for _, n := range v.Damaged[i].Versions {
			lost[n] = true
		}
	}
	if len(v.Damaged) == 0 && v.Count() > 0 {
		t.Errorf("verify after it: %v, %v", v.Problems, v.KeptProblems)
	}
	var good []int
	for n := 1; n <= 3; n++ {
		if !lost[n] {
			good = append(good, n)
		}
	}
	m.exports(t, a, good, true)
	if len(lost) > 0 {
		m.named++
	} else {
		m.repaired++
	}
}
