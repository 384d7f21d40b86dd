// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/runs"
	"mirrord/testing/apptest"
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

// Along links: a copy in another directory, one that lacks pages, whose links lead nowhere, and how often
// other sites link to the first page.
func TestReplicasAlongLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		write(fmt.Sprintf("a.test/doc/p%d.html", i), chapter(i, 30))
		write(fmt.Sprintf("b.test/pub/copy/p%d.html", i), chapter(i, 30))
		if i < 16 {
			write(fmt.Sprintf("c.test/doc/p%d.html", i), chapter(i, 30))
		}
		const own = "<p>%s<a href=/page%d.html>next</a><a href=http://a.test/doc/p0.html>the manual</a>"
		write(fmt.Sprintf("d.test/page%d.html", i), fmt.Sprintf(own, mirrortest.Words(uint32(i+77), 80), i+1))
	}
	got, err := Find(t.Context(), apptest.TestApp(t.TempDir()), []string{dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Pages != 106 || got.Found != 1 || got.Dangling != 15 {
		t.Fatalf("%+v", got)
	}
	c := got.Clusters[0]
	want := "[{a.test/doc/ 30 0} {b.test/pub/copy/ 30 0} {c.test/doc/ 16 14}]"
	if c.Factor != 3 || c.Size != 30 || c.Root != "a.test/doc/p0.html" || c.Foreign < 30 ||
		fmt.Sprint(c.Copies) != want {
		t.Errorf("%+v", c)
	}
	var out strings.Builder
	got.WriteText(&out)
	for _, want := range []string{
		"of which 15 lead nowhere as they are written", "1 collection in several places",
		"factor 3, 30 pages, grown from a.test/doc/p0.html", "16  c.test/doc/, 14 pages of other copies are linked",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// In the mirrors of a state links lead to files, and what was not mirrored is absolute.
func TestReplicasAlongLinksOfMirrors(t *testing.T) {
	t.Parallel()
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	for i, prefix := range []string{"/doc/", "/pub/copy/"} {
		have := 24 - 8*i
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := 0
			rest, ok := strings.CutPrefix(r.URL.Path, prefix)
			if _, err := fmt.Sscanf(rest, "p%d.html", &n); !ok || n >= have || (err != nil && rest != "") {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, chapter(n, 24))
		})
		u := mirrortest.Serve(t, fmt.Sprintf("127.0.0.%d", 21+i), h).URL
		name := fmt.Sprint("m", i)
		apptest.Put(t, a.Jobs, name+".toml", apptest.GrowingJob(u+strings.TrimSuffix(prefix, "/")))
		if sum, err := runs.RunNow(t.Context(), a, apptest.Fully(name)); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	got, err := Find(t.Context(), a, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Clusters) != 1 || len(got.Clusters[0].Copies) != 2 {
		t.Fatalf("%+v", got)
	}
	if c := got.Clusters[0]; c.Copies[0].Pages != 24 || c.Copies[1].Pages != 16 || c.Copies[1].Shared != 8 {
		t.Errorf("%+v", c)
	}
}
