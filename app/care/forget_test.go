// SPDX-License-Identifier: Apache-2.0

package care

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/mirror/takedown"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// SmithSite is a job with two versions, both of which have a page that is to be forgotten.
func SmithSite(t *testing.T) (a *env.App, url string) {
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
	a = apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	for _, name := range []string{"x", "other"} {
		apptest.Put(t, a.Jobs, name+".toml",
			"url = \""+srv.URL+"/\"\npolicy = \"full\"\npolite.delay = \"0s\"\npolite.factor = 0\n")
	}
	for _, name := range []string{"x", "x", "other"} {
		if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: name}); err != nil {
			t.Fatal(err)
		}
		version++
	}
	return a, srv.URL
}

// What a page reads of other mirrors is bounded, and it says so.
func TestForgetReadsElsewhere(t *testing.T) {
	a, _ := SmithSite(t)
	for most, want := range map[int]string{0: "1 mirror not looked through", 1: "other mirrors it too"} {
		f, err := PlanForget(a, "x", "smith.*", "because", most)
		if err != nil || !strings.Contains(strings.Join(f.Elsewhere, "\n"), want) {
			t.Errorf("%d mirrors: %v, %v, want %q", most, f, err, want)
		}
	}
}

// A daemon that starts continues interrupted take-downs.
func TestForgettingGoesOn(t *testing.T) {
	a, _ := SmithSite(t)
	f, err := PlanForget(a, "x", "smith.*", "because", math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenState(apptest.StateOf(t, a), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("x")
	if err == nil {
		err = errors.Join(takedown.Begin(s, f.down...), s.Close()) // and the process is killed
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
	if _, err := os.Stat(filepath.Join(apptest.StateOf(t, a), "sites/x/current/smith.html")); err == nil {
		t.Error("it is still there")
	}
}
