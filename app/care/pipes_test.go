// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/search"
	"mirrord/app/serving"
	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/scheduler/control"
	"mirrord/serve"
	"mirrord/testing/apptest"
)

// within fails a test whose work does not end.
func within(t *testing.T, what string, work func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits for the other end of a pipe", what)
		return nil
	}
}

// pipe replaces a file by a named pipe.
func pipe(t *testing.T, name string) {
	t.Helper()
	os.Remove(name)
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}

// everyReader is all that reads archives and folders, with the name of one.
func everyReader(a *env.App, name string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"verify": func(ctx context.Context) error {
			r, err := Verify(ctx, a, name, true)
			if err == nil && r.Count() > 0 {
				return phm.ErrDamaged
			}
			return err
		},
		"import": func(ctx context.Context) error {
			_, err := archives.ImportAny(ctx, a, archives.ImportRequest{Files: []string{name}, As: "as"})
			return err
		},
		"explain": func(ctx context.Context) error {
			_, err := archives.ExplainFile(ctx, a, name, "http://h.test/", false)
			return err
		},
		"serve": func(ctx context.Context) error {
			files, err := serving.OpenFiles(ctx, a, []string{name})
			if err == nil {
				files.Close()
			}
			return err
		},
		"replicas": func(ctx context.Context) error {
			_, err := replicas.FindReplicas(ctx, a, []string{name}, replicas.ReplicaOptions{})
			return err
		},
	}
}

// readByAll calls all that reads archives and folders with a name.
func readByAll(t *testing.T, a *env.App, name string) map[string]error {
	t.Helper()
	out := map[string]error{}
	for what, work := range everyReader(a, name) {
		out[what] = within(t, what+" of "+name, func() error { return work(t.Context()) })
	}
	return out
}

func TestPipes(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	dir := t.TempDir()
	for _, name := range []string{"a.warc.gz", "a.phm", "a.zim", "a"} {
		file := filepath.Join(dir, name)
		pipe(t, file)
		for what, err := range readByAll(t, a, file) {
			if err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
		t.Fatal(err)
	}
	for what, err := range readByAll(t, a, filepath.Join(dir, "zero")) {
		if err == nil {
			t.Errorf("%s reads a device", what)
		}
	}
}

// In a folder, too, a pipe instead of a file is damage.
func TestPipesInFolders(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	for _, name := range []string{phm.MetaName, phm.FilesName, "same.html"} {
		dir := filepath.Join(t.TempDir(), "mirror")
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: dir,
			Format: "dir"}); err != nil {
			t.Fatal(err)
		}
		pipe(t, filepath.Join(dir, name))
		found := readByAll(t, a, dir)
		for _, what := range []string{"verify", "import"} {
			if err := found[what]; err == nil {
				t.Errorf("%s of a folder whose %s is a pipe finds nothing wrong", what, name)
			}
		}
		if name != "same.html" {
			continue
		}
		files, err := serving.OpenFiles(t.Context(), a, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		srv, err := serve.New(serve.Options{Sites: files})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		err = within(t, "a page under serve", func() error {
			srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://mirror.localhost/same.html", nil))
			return nil
		})
		if err != nil || w.Code != http.StatusServiceUnavailable {
			t.Errorf("a pipe is served: %d %s", w.Code, w.Body)
		}
	}
}

// everyUse is all that reads the published tree of a job.
func everyUse(t *testing.T, a *env.App) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"status": func(context.Context) error {
			_, err := look.Statuses(a, a.Now())
			return err
		},
		"versions": func(context.Context) error {
			_, err := look.Versions(a, "site")
			return err
		},
		"diff": func(context.Context) error {
			_, err := look.Diff(a, look.DiffRequest{Job: "site"})
			return err
		},
		"explain": func(ctx context.Context) error {
			_, err := look.Explain(ctx, a, "site", look.ExplainRequest{URL: "same.html"})
			return err
		},
		"export": func(ctx context.Context) error {
			out := filepath.Join(t.TempDir(), "out.phm")
			_, err := archives.Export(ctx, a, archives.ExportRequest{Job: "site", Out: out, Format: "phm"})
			if err != nil {
				return err
			}
			if r, err := Verify(ctx, a, out, true); err != nil || r.Count() > 0 {
				t.Errorf("the export: %+v, %v", r, err)
			}
			return nil
		},
		"replicas": func(ctx context.Context) error {
			_, err := replicas.FindReplicas(ctx, a, nil, replicas.ReplicaOptions{})
			if err != nil && strings.Contains(err.Error(), "a named pipe") {
				return nil
			}
			return err
		},
		"find": func(ctx context.Context) error {
			_, err := search.Find(ctx, a, search.FindRequest{Words: "same"})
			return err
		},
		"a page under serve": func(context.Context) error {
			st, err := a.MustState()
			if err != nil {
				return err
			}
			kept := &look.KeptVersions{State: st}
			sites := serve.NewStore(st, kept, nil)
			defer func() { sites.Close(); kept.Close(); st.Close() }()
			srv, err := serve.New(serve.Options{Sites: sites, Log: a.Log})
			if err != nil {
				return err
			}
			for _, url := range []string{"http://site.localhost/same.html", "http://site.localhost/"} {
				w := httptest.NewRecorder()
				srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, url, nil))
				if w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable {
					t.Errorf("%s: %d %s", url, w.Code, w.Body)
				}
			}
			return nil
		},
		"verify": func(ctx context.Context) error {
			r, err := Verify(ctx, a, "site", true)
			if err == nil && r.Count() == 0 {
				t.Error("verify finds nothing wrong")
			}
			return err
		},
	}
}

// A pipe in a tree of a job is damage that verify finds, and that a repair or a run repairs. No reader
// waits for it.
func TestPipesInTrees(t *testing.T) {
	a, _, _, now := apptest.MirrorGrowing(t, 2)
	dir := filepath.Join(apptest.StateOf(t, a), "sites/site")
	repairs := map[string]func() error{
		"repair": func() error {
			_, err := Mend(t.Context(), a, "site", false)
			return err
		},
		"run": func() error {
			now.Add(86400)
			_, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site",
				RunRequest: control.RunRequest{Full: true}})
			return err
		},
	}
	for _, name := range []string{"current", "current/phm.json", "current/phm.files", "current/same.html",
		"trees/*", "trees/*/phm.json", "trees/*/phm.files", "trees/*/same.html"} {
		for how, repair := range repairs {
			files, err := filepath.Glob(filepath.Join(dir, name))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %q, %v", name, files, err)
			}
			for _, file := range files {
				if err := os.RemoveAll(file); err != nil {
					t.Fatal(err)
				}
				pipe(t, file)
			}
			for what, use := range everyUse(t, a) {
				what += " with a pipe at " + name
				if err := within(t, what, func() error { return use(t.Context()) }); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := within(t, how+" with a pipe at "+name, repair); err != nil {
				t.Errorf("%s with a pipe at %s: %v", how, name, err)
			}
			if r, err := Verify(t.Context(), a, "site", true); err != nil || r.Count() > 0 {
				t.Errorf("after the %s of %s: %+v, %v", how, name, r, err)
			}
		}
	}
}

// So it is in a space, and in a published tree that a space takes its pages from.
func TestPipesInSpace(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("a", "b")
	state := apptest.StateOf(t, w.App)
	for _, name := range []string{space.FilesDir("s") + "/@@b/page.html", "sites/b/current/page.html"} {
		pipe(t, filepath.Join(state, name))
		err := within(t, "verify with a pipe at "+name, func() error {
			r, err := Verify(t.Context(), w.App, "b", true)
			if err == nil && r.Count() == 0 {
				t.Errorf("verify does not see the pipe at %s", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		err = within(t, "a run beside "+name, func() error {
			_, err := runs.RunNow(t.Context(), w.App, runs.RunHere{Job: "a"})
			return err
		})
		if err != nil {
			t.Error(err)
		}
		err = within(t, "a repair of "+name, func() error {
			_, err := Mend(t.Context(), w.App, "b", false)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		w.Leads("@@b/page.html", "../@@a/index.html")
	}
}

// A project of HTTrack and a folder of wget may hold pipes, and files that are larger than memory.
func TestPipesOfOthers(t *testing.T) {
	a := apptest.TestApp(t.TempDir())
	for _, name := range []string{"i.png", "hts-cache/new.zip", "hts-log.txt"} {
		dir := httrackFolder(t)
		pipe(t, filepath.Join(dir, name))
		readByAll(t, a, dir)
	}
	dir := httrackFolder(t)
	log, err := os.Create(filepath.Join(dir, "hts-log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := io.WriteString(log, "httrack http://h.test/\n"); err != nil {
		t.Fatal(err)
	}
	if err := log.Truncate(1 << 40); err == nil { // takes no room on the disk
		if err := readByAll(t, a, dir)["explain"]; err != nil {
			t.Error(err)
		}
	}
	wgot := t.TempDir()
	apptest.Put(t, wgot, "page.html", "<title>Page</title>")
	pipe(t, filepath.Join(wgot, "pipe.html"))
	x, err := archives.ExplainFile(t.Context(), a, wgot, "http://h.test/page.html", false)
	if err != nil || len(x.Answers) != 1 {
		t.Errorf("explain of a folder of wget: %+v, %v", x, err)
	}
}

// A file from another program may be of any size: a signal ends the reading of it.
func TestReadingEnds(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	dir := filepath.Join(t.TempDir(), "mirror")
	if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: dir,
		Format: "dir"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, phm.FilesName), 1<<40); err != nil { // takes no room on the disk
		t.Fatal(err)
	}
	wgot := t.TempDir()
	apptest.Put(t, wgot, "page.html", "<title>Page</title>")
	if err := os.Truncate(filepath.Join(wgot, "page.html"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, wgot} {
		for what, work := range everyReader(a, name) {
			if name == wgot && what != "explain" {
				continue // the others want a phm.json, and end at once
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			if err := within(t, what, func() error { return work(ctx) }); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
}

// So does it where nothing comes: a list of URLs may be the output of another program.
func TestWaitingEnds(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	err := within(t, "a list", func() error {
		_, err := replicas.CandidateHosts(ctx, apptest.TestApp(t.TempDir()), []string{"-"}, r,
			replicas.ReplicaOptions{})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
