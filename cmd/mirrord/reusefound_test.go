// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/testing/mirrortest"
)

// chapter is a page of a manual of n pages: the first one links to all, each to the next one.
func chapter(i, n int) string {
	var b strings.Builder
	b.WriteString("<p>" + mirrortest.Words(uint32(i+1)*2654435761, 80))
	for to := range n {
		if (i == 0 && to > 0) || to == i+1 {
			fmt.Fprintf(&b, "<a href=p%d.html>next</a> ", to)
		}
	}
	return b.String()
}

// library serves a manual of 40 pages under a prefix, and other pages beside it. It counts the requests for
// the manual.
type library struct {
	prefix string
	own    int // other pages
	asked  atomic.Int64
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	n := 0
	rest, ok := strings.CutPrefix(r.URL.Path, l.prefix)
	_, err := fmt.Sscanf(rest, "p%d.html", &n)
	switch {
	case ok && (rest == "" || (err == nil && n < 40)):
		l.asked.Add(1)
		fmt.Fprint(w, chapter(n, 40))
	case r.URL.Path == "/":
		fmt.Fprintf(w, "<a href=%s>the manual</a>", l.prefix)
		for i := range l.own {
			fmt.Fprintf(w, "<a href=/own%d.html>%d</a> ", i, i)
		}
	case strings.HasPrefix(r.URL.Path, "/own"):
		fmt.Fprint(w, r.URL.Path, mirrortest.Words(uint32(len(l.prefix)*1000+len(r.URL.Path)), 60))
	default:
		http.NotFound(w, r)
	}
}

// A collection that another job mirrors is found after a run, by its files: the run, status and explain
// propose its reuse, and reuse = "auto" takes it. The database of a mirror that has none of the files is not
// opened for that: here it is damaged.
func TestReuseIsFound(t *testing.T) {
	t.Parallel()
	manual, site := &library{prefix: "/manual/"}, &library{prefix: "/docs/m/", own: 12}
	first := mirrortest.Serve(t, "127.0.0.31", manual).URL
	second := mirrortest.Serve(t, "127.0.0.32", site).URL
	jobs, state := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		const fast = "polite.delay = \"0s\"\npolite.factor = 0\npolite.timeout = \"1m\"\n"
		if err := os.WriteFile(filepath.Join(jobs, name+".toml"), []byte(fast+text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mirrord := func(args ...string) string {
		t.Helper()
		code, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if code != cli.ExitOK {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		return out
	}
	write("manual", fmt.Sprintf("url = %q\n", first+"/manual/"))
	write("site", fmt.Sprintf("url = %q\n", second+"/"))
	third := mirrortest.Serve(t, "127.0.0.32", &library{prefix: "/else/where/", own: 12}).URL
	write("else", fmt.Sprintf("url = %q\nscope.exclude = [\"/else/**\"]\n", third+"/"))
	mirrord("run-now", "manual")
	mirrord("run-now", "else")
	damaged := filepath.Join(state, "sites", "else", "site.db")
	if err := os.WriteFile(damaged, make([]byte, 1<<15), 0); err != nil {
		t.Fatal(err)
	}
	const form = "the mirror of manual has 40 of the 40 files under %s/docs/m/ with the same bytes, " +
		"under %s/manual/"
	want := fmt.Sprintf(form, second, first)
	for what, out := range map[string]string{
		"the run": mirrord("run-now", "site"), "status": mirrord("status", "site"),
		"explain": mirrord("explain", "site", second+"/docs/m/p7.html"),
	} {
		if !strings.Contains(out, want) || !strings.Contains(out, `reuse.job = "manual", reuse.from = `) {
			t.Errorf("%s: %q is not in\n%s", what, want, out)
		}
	}
	if out := mirrord("explain", "site", second+"/own1.html"); strings.Contains(out, "reuse") {
		t.Errorf("of another page: %s", out)
	}
	if n := site.asked.Load(); n < 40 {
		t.Fatalf("%d requests", n)
	}
	write("site", "reuse = \"auto\"\n"+fmt.Sprintf("url = %q\n", second+"/"))
	site.asked.Store(0)
	const taken = "40 of the files were taken from the mirror of manual"
	if out := mirrord("run-now", "site"); !strings.Contains(out, taken) {
		t.Errorf("the run that reuses: %s", out)
	}
	if n := site.asked.Load(); n == 0 || n > 24 {
		t.Errorf("%d requests for a collection that is reused", n)
	}
	out := mirrord("explain", "site", second+"/docs/m/p7.html")
	if !strings.Contains(out, first+"/manual/p7.html") ||
		!strings.Contains(out, "it is taken from the mirror of job manual") {
		t.Errorf("explain: %s", out)
	}
	write("site", fmt.Sprintf("url = %q\n", second+"/"))
	mirrord("remove", "manual", "--yes")
	if out := mirrord("run-now", "site"); strings.Contains(out, "the mirror of manual") {
		t.Errorf("a job that was removed is proposed: %s", out)
	}
}

// Two jobs that would find one another do not take files from one another in a circle.
func TestReuseIsFoundOnce(t *testing.T) {
	t.Parallel()
	one, two := &library{prefix: "/m/"}, &library{prefix: "/m/"}
	jobs, state := t.TempDir(), t.TempDir()
	for name, l := range map[string]*library{"one": one, "two": two} {
		u := mirrortest.Serve(t, "127.0.0.33", l).URL
		const text = "url = %q\nreuse = \"auto\"\npolite.delay = \"0s\"\npolite.factor = 0\n" +
			"polite.timeout = \"1m\"\n"
		file := filepath.Join(jobs, name+".toml")
		if err := os.WriteFile(file, fmt.Appendf(nil, text, u+"/m/"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string) {
		t.Helper()
		if code, out, errs := runArgs(t, nil, "run-now", name, "--jobs", jobs, "--state",
			state); code != cli.ExitOK {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
	}
	run("one")
	run("two") // finds one, and takes its files in the next run
	one.asked.Store(0)
	two.asked.Store(0)
	run("one") // looks again in a week
	run("two")
	if n, m := one.asked.Load(), two.asked.Load(); n < 40 || m > 24 {
		t.Errorf("%d and %d requests: want all of the first site's, and a sample of the second's", n, m)
	}
}
