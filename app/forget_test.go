// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
)

// smithSite is a job with two versions, both of which have a page that is to be forgotten.
func smithSite(t *testing.T) (a *App, url string) {
	version := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			const page = "<title>Home</title><a href=smith.html>s</a><img src=smith.png><img src=logo.png>%d"
			fmt.Fprintf(w, page, version)
		case "/smith.html":
			fmt.Fprint(w, "<title>Smith</title>the secret")
		case "/smith.png", "/logo.png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "a picture")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	a = testApp(t.TempDir())
	a.Jobs = t.TempDir()
	for _, name := range []string{"x", "other"} {
		put(t, a.Jobs, name+".toml",
			"url = \""+srv.URL+"/\"\npolicy = \"full\"\npolite.delay = \"0s\"\npolite.factor = 0\n")
	}
	for _, name := range []string{"x", "x", "other"} {
		if _, err := RunNow(t.Context(), a, RunHere{Job: name}); err != nil {
			t.Fatal(err)
		}
		version++
	}
	return a, srv.URL
}

func forgetNow(t *testing.T, a *App, name, what string) *Forgetting {
	t.Helper()
	f, err := PlanForget(a, name, what, "because")
	if err == nil {
		err = Forget(t.Context(), a, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A server that has an old version open does not show what was forgotten, and the command says where else it
// lies.
func TestForgetBesideAServer(t *testing.T) {
	a, url := smithSite(t)
	st, err := store.OpenState(mustState(t, a), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	kept := &KeptVersions{State: st}
	defer kept.Close()
	old, err := kept.Open(t.Context(), "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if page, err := fs.ReadFile(old, "smith.html"); err != nil || !strings.Contains(string(page), "the secret") {
		t.Fatalf("%q, %v", page, err)
	}
	f := forgetNow(t, a, "x", "smith.*")
	if len(f.URLs) != 2 || f.Versions != 2 || len(f.Left) > 0 {
		t.Errorf("%+v", f)
	}
	said := strings.Join(f.Elsewhere, "\n")
	for _, want := range []string{
		"other mirrors it too, as " + url + "/smith.",
		": mirrord forget other \"smith.*\" --reason TEXT",
		url + "/logo.png has a body in common with it and stays",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("elsewhere does not say %q: %s", want, said)
		}
	}
	if page, err := fs.ReadFile(old, "smith.html"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the open version still has it: %q, %v", page, err)
	}
	page, err := fs.ReadFile(old, "index.html")
	if err != nil || !strings.Contains(string(page), url+"/smith.html") {
		t.Errorf("%q, %v", page, err)
	}
	if _, err := fs.ReadFile(old, "logo.png"); err != nil {
		t.Error(err)
	}
	forgetNow(t, a, "other", "smith.*")
}

// What was forgotten is not requested after the database was lost and made again.
func TestForgottenSurvivesARebuild(t *testing.T) {
	a, _ := smithSite(t)
	forgetNow(t, a, "x", "smith.*")
	dir := filepath.Join(mustState(t, a), "sites", "x")
	if err := os.WriteFile(filepath.Join(dir, "site.db"), []byte("no database"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Rebuild(t.Context(), a, "x"); err != nil {
		t.Fatal(err)
	}
	down, err := ForgottenIn(a, "x")
	if err != nil || len(down.List) != 1 || down.List[0].Reason != "because" {
		t.Fatalf("%+v, %v", down, err)
	}
	if _, err := RunNow(t.Context(), a, RunHere{Job: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"smith.html", "smith.png"} {
		if _, err := os.Stat(filepath.Join(dir, "current", name)); err == nil {
			t.Errorf("%s is there again", name)
		}
	}
	// What the rebuild took out of use may have it.
	forgetNow(t, a, "x", "smith.*")
	if old, err := filepath.Glob(filepath.Join(dir, "damaged*")); err != nil || len(old) > 0 {
		t.Errorf("left: %q, %v", old, err)
	}
}

// A daemon that starts goes on with what was cut off.
func TestForgettingGoesOn(t *testing.T) {
	a, _ := smithSite(t)
	f, err := PlanForget(a, "x", "smith.*", "because")
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenState(mustState(t, a), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("x")
	if err == nil {
		err = errors.Join(mirror.Forget(s, f.down...), s.Close()) // and the process is killed
	}
	if err != nil {
		t.Fatal(err)
	}
	if down, err := ForgottenIn(a, "x"); err != nil || down.Left == "" {
		t.Errorf("%+v, %v", down, err)
	}
	FinishForgetting(t.Context(), a, st)
	if down, err := ForgottenIn(a, "x"); err != nil || down.Left != "" {
		t.Errorf("%+v, %v", down, err)
	}
	if _, err := os.Stat(filepath.Join(mustState(t, a), "sites/x/current/smith.html")); err == nil {
		t.Error("it is still there")
	}
}
