// SPDX-License-Identifier: Apache-2.0

package depots_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/care"
	"mirrord/app/depots"
	"mirrord/app/nodes"
	"mirrord/app/runs"
	"mirrord/cluster/depot"
	"mirrord/mirror/render"
	"mirrord/store/blobs"
	"mirrord/testing/apptest"
)

// A reader that leaves older versions in the depot has them when they are read, by any command, as long as
// the depot is there.
func TestReaderOnDemand(t *testing.T) {
	var edition atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>x</title><img src="/picture.png">`)
		case "/picture.png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "picture ", edition.Load())
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	writer := apptest.TestApp(t.TempDir())
	writer.Jobs = t.TempDir()
	apptest.Put(t, writer.Jobs, "x.toml",
		fmt.Sprintf("url = %q\npolite.delay = \"0s\"\npolicy = \"full\"\n", site.URL+"/"))
	dir := filepath.Join(t.TempDir(), "depot")
	for range 3 {
		edition.Add(1)
		if _, err := runs.RunNow(t.Context(), writer, runs.RunHere{Job: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	request := depots.DepotRequest{Depot: "file://" + dir, Jobs: []string{"x"}}
	if _, err := depots.Push(t.Context(), writer, request); err != nil {
		t.Fatal(err)
	}
	here := apptest.TestApp(t.TempDir())
	here.Away = depots.LeftBehind
	here.LookupEnv = func(string) (string, bool) { return "", false }
	st, err := here.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	r := &nodes.Reader{
		State: st,
		Open: func(ctx context.Context) (*depot.Depot, error) {
			return depots.ReadDepot(ctx, here, "file://"+dir, true)
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if err := errors.Join(r.Look(t.Context()), st.Close()); err != nil {
		t.Fatal(err)
	}
	// picture reads it in a version, as a command does.
	picture := func(version int) (string, error) {
		st, err := here.MustState()
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		s, err := st.ViewSite("x")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := render.OpenPast(render.MaterialOf(st, s), version)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		b, err := fs.ReadFile(p, "picture.png")
		return string(b), err
	}
	left := func(want int) {
		t.Helper()
		v, err := care.Verify(t.Context(), here, "x", false)
		if err != nil || v.Count() > 0 || v.Kept.Away != want {
			t.Errorf("%+v, %v; want %d away", v, err, want)
		}
	}
	left(2)
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	left(2)
	_, err = picture(1)
	if !errors.Is(err, blobs.ErrAway) || !strings.Contains(err.Error(), "file://"+dir) {
		t.Errorf("without the depot: %v", err)
	}
	here.LookupEnv = func(name string) (string, bool) {
		return "file://" + dir + ".gone",
			name == depots.DepotEnv
	}
	if text, err := picture(1); text != "picture 1" {
		t.Errorf("from another address: %q, %v", text, err)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(dir+".gone", dir)); err != nil {
		t.Fatal(err)
	}
	if text, err := picture(2); text != "picture 2" {
		t.Errorf("at the address where it was: %q, %v", text, err)
	}
	left(0)
	pulled, err := depots.Pull(t.Context(), here, request)
	if err != nil || !pulled.Sites[0].Unchanged {
		t.Errorf("%+v, %v", pulled, err)
	}
	if _, err := os.Lstat(filepath.Join(st.Dir, "sites", "x", "away.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is noted still: %v", err)
	}
}
