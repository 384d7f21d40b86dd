// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/serve"
	"mirrord/serve/find"
)

// findSite is a site of ten pages, of which one changes with each version, and its mirror.
func mirroredToFind(t *testing.T, keep string) (a *App, run func(), version *atomic.Int64) {
	t.Helper()
	version = new(atomic.Int64)
	version.Store(1)
	words := []string{"", "harvest", "winter", "spring", "summer"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<title>Start page</title>`)
			for i := range 8 {
				fmt.Fprintf(w, `<a href="/p%d.html">p</a> `, i)
			}
			fmt.Fprint(w, `<a href="/notes.txt">n</a><script>var hidden = "neverfound"</script>`)
		case p == "/p0.html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>News</title><p>Now it is %s. <a href="/p1.html">more</a>`, words[version.Load()])
		case p == "/p1.html": // the header says how it is to be read
			w.Header().Set("Content-Type", "text/html; charset=windows-1251")
			fmt.Fprint(w, "<title>\xcc\xee\xf1\xea\xe2\xe0</title><p>\xe7\xe8\xec\xe0 \xe2 \xe3\xee\xf0\xee\xe4\xe5")
		case p == "/notes.txt":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, "plain words of a file")
		case strings.HasSuffix(p, ".html"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>Page %s</title><p>A quiet page about &quot;lighthouses&quot; in %s.`, p, p)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	a = testApp(filepath.Join(t.TempDir(), "state"))
	a.Jobs = t.TempDir()
	const form = "url = %q\npublish.keep = %q\npolite.delay = \"0s\"\npolite.factor = 0\n"
	put(t, a.Jobs, "x.toml", fmt.Sprintf(form, srv.URL+"/", keep))
	return a, func() {
		t.Helper()
		if _, err := RunNow(t.Context(), a, RunHere{Job: "x"}); err != nil {
			t.Fatal(err)
		}
	}, version
}

// paths are the pages that a search finds.
func paths(t *testing.T, a *App, r FindRequest) []string {
	t.Helper()
	f, err := Find(t.Context(), a, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if len(f.Behind) > 0 {
		t.Errorf("behind: %v", f.Behind)
	}
	out := []string{}
	for _, p := range f.Results {
		out = append(out, p.URL[strings.LastIndexByte(p.URL, '/'):])
	}
	slices.Sort(out)
	return out
}

// The texts of a mirror are found as they are and were, by what changed only, until they are dropped.
func TestFindTexts(t *testing.T) {
	a, run, version := mirroredToFind(t, "all")
	run()
	for words, want := range map[string][]string{
		"harvest":    {"/p0.html"},
		"ЗИМА город": {},
		"зима":       {"/p1.html"},
		"plain file": {"/notes.txt"},
		"neverfound": {},
		"start":      {"/"},
	} {
		if got := paths(t, a, FindRequest{Words: words}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", words, got, want)
		}
	}
	served(t, a)
	version.Store(2)
	run()
	version.Store(3)
	run()
	added := 0
	a.Note = func(line string) {
		if strings.Contains(line, "pages") {
			fmt.Sscanf(line[strings.LastIndex(line, "of ")+3:], "%d", &added)
		}
	}
	f, err := Find(t.Context(), a, FindRequest{Words: "winter"})
	if err != nil || len(f.Results) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	p := f.Results[0]
	dated := p.Since != nil && p.Until != nil
	if !p.Gone || p.First != 2 || p.Last != 2 || !dated || p.Title != "News" || p.Path == "" {
		t.Errorf("winter: %+v", p)
	}
	if added != 1 {
		t.Errorf("%d pages were looked at for one that changed", added)
	}
	if got := paths(t, a, FindRequest{Words: "harvest", Job: "x", At: "1"}); len(got) != 1 {
		t.Errorf("version 1: %v", got)
	}
	if _, err := Find(t.Context(), a, FindRequest{Words: "harvest", Job: "x", At: "9"}); err == nil {
		t.Error("version 9, which there is not, has results")
	}
	if got := paths(t, a, FindRequest{Words: "harvest", Job: "x", At: "3"}); len(got) != 0 {
		t.Errorf("version 3: %v", got)
	}
	put(t, a.Jobs, "x.toml", strings.Replace(readFile(t, filepath.Join(a.Jobs, "x.toml")), `"all"`, `"1"`, 1))
	if _, err := Collect(t.Context(), a, nil, false); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, FindRequest{Words: "harvest"}); len(got) != 0 {
		t.Errorf("a text of dropped versions: %v", got)
	}
	if got := paths(t, a, FindRequest{Words: "spring"}); len(got) != 1 {
		t.Errorf("the text of the present version: %v", got)
	}
	plan, err := PlanForget(a, "x", f.Results[0].URL, "by request")
	if err == nil {
		err = Forget(t.Context(), a, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(stateOf(t, a), find.Folder, "index.db")); err == nil &&
		strings.Contains(string(data), "spring") {
		t.Error("the index has a word of what was forgotten")
	}
	if got := paths(t, a, FindRequest{Words: "spring"}); len(got) != 0 {
		t.Errorf("a forgotten text: %v", got)
	}
	if _, err := Find(t.Context(), a, FindRequest{Words: "page", Job: "y"}); err == nil {
		t.Error("a mirror that is not there is no error")
	}
	if err := DropFind(a); err != nil || find.Wanted(stateOf(t, a)) {
		t.Errorf("drop: %v", err)
	}
}

// What is known of replicas is old a day after it was found, when mirrors have other versions, and only where
// somebody wanted to know.
func TestReplicasAreFoundAgain(t *testing.T) {
	a, run, version := mirroredToFind(t, "all")
	run()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := newKeptIndex(a, st)
	old := func(after time.Duration, want bool) {
		t.Helper()
		if got := k.replicasAreOld(t.Context(), time.Now().Add(after)); got != want {
			t.Errorf("after %v: old %v", after, got)
		}
	}
	const day = replicasEvery + time.Hour
	old(day, false) // nobody asked
	if _, err := FindReplicas(t.Context(), a, nil, ReplicaOptions{}); err != nil {
		t.Fatal(err)
	}
	old(day, false) // nothing is new
	version.Store(2)
	run()
	old(time.Hour, false)
	old(day, true)
	if err := k.findReplicas(t.Context()); err != nil {
		t.Fatal(err)
	}
	old(day, false)
	known, err := k.Replicas()
	if err != nil || known.Versions["x"] != 2 || known.Pages == 0 {
		t.Errorf("%+v, %v", known, err)
	}
}

// served looks for a page as serve does: in the index as it is, in some mirrors only.
func served(t *testing.T, a *App) {
	t.Helper()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	lookup := TextsOf(st)
	for only, want := range map[string]int{"": 1, "x": 1, "y": 0} {
		q := serve.TextQuery{Words: "harvest", Limit: 5}
		if only != "" {
			q.Only = []string{only}
		}
		if got, err := lookup.Find(t.Context(), q); err != nil || len(got.Results) != want || !lookup.Made() {
			t.Errorf("served, only %q: %+v, %v", only, got, err)
		}
	}
}

// What was ended in the middle goes on; a damaged index is reported and made again; a removed mirror leaves
// it.
func TestFindIsMadeAgain(t *testing.T) {
	a, run, _ := mirroredToFind(t, "1")
	run()
	ctx, stop := context.WithCancel(t.Context())
	a.Note = func(string) { stop() }
	if _, err := Find(ctx, a, FindRequest{Words: "lighthouses"}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	a.Note = nil
	if got := paths(t, a, FindRequest{Words: "lighthouses"}); len(got) != 6 {
		t.Errorf("after that: %v", got)
	}
	file := filepath.Join(stateOf(t, a), find.Folder, "index.db")
	if err := os.WriteFile(file, []byte("this was a database once, and is none now"), 0o644); err != nil {
		t.Fatal(err)
	}
	var said []string
	a.Warn = func(line string) { said = append(said, line) }
	if got := paths(t, a, FindRequest{Words: "lighthouses"}); len(got) != 6 || len(said) != 1 {
		t.Errorf("made again: %v, said %q", got, said)
	}
	plan, err := PlanRemoval(a, "x", false)
	if err == nil {
		err = Remove(t.Context(), a, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, FindRequest{Words: "lighthouses"}); len(got) != 0 {
		t.Errorf("a removed mirror: %v", got)
	}
}

// Texts are found on a disk that is full, and on one that cannot be written.
func TestFindWhereNothingCanBeWritten(t *testing.T) {
	a, run, version := mirroredToFind(t, "all")
	dir := stateOf(t, a)
	mount := func(flags uintptr, size string) error { return unix.Mount("tmpfs", dir, "tmpfs", flags, size) }
	if err := errors.Join(os.Mkdir(dir, 0o755), mount(0, "size=32m")); err != nil {
		t.Skipf("mounting is not permitted here: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	text, err := os.ReadFile(filepath.Join(a.Jobs, "x.toml"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, a.Jobs, "x.toml", string(text)+"limits.min_free = \"1MB\"\n")
	run()
	if got := paths(t, a, FindRequest{Words: "harvest"}); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	version.Store(2)
	run()
	var said []string
	a.Warn = func(line string) { said = append(said, line) }
	look := func(disk string) {
		t.Helper()
		said = nil
		f, err := Find(t.Context(), a, FindRequest{Words: "harvest"})
		if err != nil || f.Matches != 1 || len(f.Behind) != 1 || len(said) != 1 ||
			!strings.HasPrefix(said[0], "the index of texts was not brought up to date: ") {
			t.Errorf("%s: %+v, %v, said %q", disk, f, err, said)
		}
	}
	if err := mount(unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	look("read-only")
	if err := mount(unix.MS_REMOUNT, "size=32m"); err != nil {
		t.Fatal(err)
	}
	var rest *os.File
	rest, err = os.Create(filepath.Join(dir, "rest"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = rest.Write(make([]byte, 4096))
	}
	if rest.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	look("full")
	if err := os.Remove(rest.Name()); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, FindRequest{Words: "winter"}); len(got) != 1 {
		t.Errorf("with room again: %v", got)
	}
}

func stateOf(t *testing.T, a *App) string {
	t.Helper()
	dir, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
