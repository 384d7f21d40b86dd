// SPDX-License-Identifier: Apache-2.0

package spaces_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/daemon"
	"mirrord/app/life"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/app/spaces"
	"mirrord/phm/space"
	"mirrord/store"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

func TestSpaces(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("a")
	w.Leads("@@a/index.html", w.B+"page.html#top", w.B+"none", "new.html#part")
	before := w.Requests.Load()
	st, err := store.OpenState(apptest.StateOf(t, w.App), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("a") // which no other process can write meanwhile
	if err != nil {
		t.Fatal(err)
	}
	w.Run("b")
	if n := w.Requests.Load() - before; n > 5 { // robots.txt, two pages, a picture, and a path that cannot exist
		t.Errorf("%d requests", n)
	}
	w.Leads("@@a/index.html", "../@@b/page.html#top", w.B+"none")
	w.Leads("@@b/page.html", "../@@a/index.html", "../@@a/new.html#part") // by a redirect
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(st.Dir, "sites/a/current/index.html"))
	if err != nil || !bytes.Contains(page, []byte(w.B+"page.html#top")) {
		t.Errorf("the mirror itself: %s, %v", page, err)
	}

	w.Shrunk.Store(true)
	w.Run("b")
	w.Leads("@@a/index.html", w.B+"page.html#top")
	if _, err := runs.Rollback(t.Context(), w.App, "b", 0); err != nil {
		t.Fatal(err)
	}
	w.Leads("@@a/index.html", "../@@b/page.html#top")
	if _, err := life.Rename(t.Context(), w.App, "b", "c"); err != nil {
		t.Fatal(err)
	}
	w.Leads("@@a/index.html", "../@@c/page.html#top")
	wholetest.ForgetNow(t, w.App, "c", w.B+"page.html")
	w.Leads("@@a/index.html", w.B+"page.html#top")
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@c/page.html")); err == nil {
		t.Error("the space has what was forgotten")
	}
	r, err := life.PlanRemoval(w.App, "c", false)
	if err == nil {
		err = life.Remove(t.Context(), w.App, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@c")); err == nil {
		t.Error("the space has a mirror that was removed")
	}
	w.Job("a", w.A, "")
	w.Run("a")
	if spaces.StateHasSpaces(st) {
		t.Error("there are spaces without a job")
	}
	if w.Log.Len() > 0 {
		t.Error(w.Log.String())
	}
}

// With a space of the whole state, jobs need not name one; those with credentials must.
func TestSpaceOfAll(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Job("a", w.A, "")
	w.Job("b", w.B, "")
	st, err := w.App.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := daemon.NewDaemon(w.App, st, daemon.DaemonOptions{Space: "s"}); err != nil {
		t.Fatal(err)
	}
	w.Run("a", "b")
	w.Leads("@@a/index.html", "../@@b/page.html#top", w.B+"none")
	j, err := w.App.FindJob("a")
	if err != nil {
		t.Fatal(err)
	}
	if x, err := look.ExplainIn(t.Context(), st, j, look.ExplainRequest{URL: w.B + "page.html"}); err != nil ||
		!strings.Contains(x.Space, "@@b/page.html: mirror b holds it") {
		t.Errorf("%+v, %v", x, err)
	}
	apptest.Put(t, w.App.Jobs, "b.toml",
		fmt.Sprintf("url = %q\nauth.user = \"u\"\nauth.password = \"${P}\"\n", w.B))
	w.Run("a")
	w.Leads("@@a/index.html", w.B+"page.html#top")
	if _, err := daemon.NewDaemon(w.App, st, daemon.DaemonOptions{Space: "../s"}); err == nil {
		t.Error("a name that leads elsewhere")
	}
	if _, err := daemon.NewDaemon(w.App, st, daemon.DaemonOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Run("a")
	if spaces.StateHasSpaces(st) {
		t.Error("there are spaces without a job")
	}
}

// A job file that is refused, and a mirror that is damaged, change nothing of a space.
func TestSpaceStays(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("a", "b")
	apptest.Put(t, w.App.Jobs, "b.toml", "url = 3\n")
	w.Run("a")
	w.Leads("@@a/index.html", "../@@b/page.html#top")
	w.Job("b", w.B, "s")
	tree := filepath.Join(apptest.StateOf(t, w.App), "sites/b/current/phm.json")
	if err := os.WriteFile(tree, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Run("a")
	w.Leads("@@a/index.html", "../@@b/page.html#top")
}

// A server shows the mirrors of a space with their links, by host and by path.
func TestSpaceServed(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("a", "b")
	get := w.Serve()
	for _, tc := range []struct {
		host, path string
		code       int
		has        string // in the body, or the address of a redirect
	}{
		{"a.localhost", "/", 200, `"../@@b/page.html#top"`},
		{"a.localhost", "/@@b/page.html", 302, "http://b.localhost/page.html"},
		{"a.localhost", "/@@b/p.png", 200, "a picture"},
		{"a.localhost", "/@@b/none", 404, ""},
		{"a.localhost", "/@@c/index.html", 404, ""},
		{"b.localhost", "/page.html", 200, `"../@@a/new.html#part"`},
		{"127.0.0.1", "/a/index.html", 200, `"../@@b/page.html#top"`},
		{"127.0.0.1", "/@@b/page.html", 302, "/b/page.html"},
		{"127.0.0.1", "/b/page.html", 200, `"../@@a/index.html"`},
		{"127.0.0.1", "/@@b/p.png", 302, "/b/p.png"},
		{"127.0.0.1", "/@@c/x", 404, ""},
	} {
		rec := get(tc.host, tc.path)
		said := rec.Body.String()
		if tc.code == http.StatusFound {
			said = rec.Header().Get("Location")
		}
		if rec.Code != tc.code || !strings.Contains(said, tc.has) {
			t.Errorf("%s %s: %d, %s", tc.host, tc.path, rec.Code, said)
		}
	}
	tag := get("a.localhost", "/").Header().Get("ETag")
	w.Shrunk.Store(true)
	w.Run("b")
	rec := get("a.localhost", "/")
	if strings.Contains(rec.Body.String(), "@@b/page.html") || rec.Header().Get("ETag") == tag {
		t.Errorf("after b lost its page: %s, %s", rec.Header().Get("ETag"), rec.Body)
	}
}

// While a rollback holds, links lead to the published page that the site has no more, not to a copy of it.
func TestSpaceLastWhileARollbackHolds(t *testing.T) {
	w := apptest.NewTwoSites(t)
	apptest.Put(t, w.App.Jobs, "a.toml",
		fmt.Sprintf("url = %q\nspace = \"s\"\npolicy = \"full\"\nrepair = true\n"+
			"polite.delay = \"0s\"\npolite.factor = 0\n", w.A))
	w.Run("a", "b")
	w.Lost.Store(true)
	w.Run("b", "b")
	if _, err := runs.Rollback(t.Context(), w.App, "b", 1); err != nil {
		t.Fatal(err)
	}
	w.Leads("@@a/index.html", "../@@b/page.html#top")
	w.Run("b")
	w.Leads("@@a/index.html", "../@@b/page.html#top")
}

// A page that the site of b has no more is there for a, which repairs, in the space, on a server and in an
// export, as the last version of b had it.
func TestSpaceLast(t *testing.T) {
	w := apptest.NewTwoSites(t)
	apptest.Put(t, w.App.Jobs, "a.toml",
		fmt.Sprintf("url = %q\nspace = \"s\"\npolicy = \"full\"\nrepair = true\n"+
			"polite.delay = \"0s\"\npolite.factor = 0\n", w.A))
	w.Run("a", "b")
	w.Leads("@@a/index.html", "../@@b/page.html#top")
	w.Lost.Store(true)
	w.Run("b")
	w.Leads("@@a/index.html", "../@@b/page.html#top") // until a second look
	w.Run("b")
	j, err := w.App.FindJob("a")
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenState(apptest.StateOf(t, w.App), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x, err := look.ExplainIn(t.Context(), st, j, look.ExplainRequest{URL: w.B + "page.html"})
	_, copied, ok := strings.Cut(x.Space, "lead to @@b/")
	copied, _, _ = strings.Cut(copied, ": ")
	if err != nil || !ok || !strings.Contains(x.Space, "the last copy, of version 1 of mirror b") {
		t.Fatalf("%+v, %v\n%s", x, err, w.Log.String())
	}
	w.Leads("@@a/index.html", "../@@b/"+copied+"#top")
	depth := strings.Repeat("../", strings.Count(copied, "/")+1)
	w.Leads("@@b/"+copied, depth+"@@a/index.html", depth+"@@a/new.html#part")

	get := w.Serve()
	for _, tc := range []struct {
		host, path string
		code       int
	}{
		{"a.localhost", "/@@b/" + copied, 200},
		{"127.0.0.1", "/@@b/" + copied, 200},
		{"a.localhost", "/@@b/@@last/none.html", 404},
	} {
		rec := get(tc.host, tc.path)
		apart := strings.HasPrefix(rec.Header().Get("Content-Security-Policy"), "sandbox ")
		leads := strings.Contains(rec.Body.String(), "@@a/new.html")
		if rec.Code != tc.code || (tc.code == 200 && !(apart && leads)) {
			t.Errorf("%s %s: %d %v %s", tc.host, tc.path, rec.Code, rec.Header(), rec.Body)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := archives.ExportSpace(t.Context(), w.App, "s", out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "@@b", copied)); err != nil {
		t.Error(err)
	}
	if v, err := care.Verify(t.Context(), w.App, out, true); err != nil || v.Count() > 0 {
		t.Errorf("the export: %+v, %v", v, err)
	}
	wholetest.ForgetNow(t, w.App, "b", w.B+"page.html") // also the last copy
	w.Leads("@@a/index.html", w.B+"page.html#top")
	if _, err := os.Stat(filepath.Join(st.Dir, space.FilesDir("s"), "@@b", copied)); err == nil {
		t.Error("the last copy of what was forgotten is there")
	}
}
