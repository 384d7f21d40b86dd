// SPDX-License-Identifier: Apache-2.0

package app

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

	"mirrord/phm"
	"mirrord/web"
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

// pipe puts a named pipe in the place of a file.
func pipe(t *testing.T, name string) {
	t.Helper()
	os.Remove(name)
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}

// everyReader is all that reads archives and folders, with the name of one.
func everyReader(a *App, name string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"verify": func(ctx context.Context) error {
			r, err := Verify(ctx, a, name, true)
			if err == nil && r.Count() > 0 {
				return phm.ErrDamaged
			}
			return err
		},
		"import": func(ctx context.Context) error {
			_, err := ImportAny(ctx, a, ImportRequest{Files: []string{name}, As: "as"})
			return err
		},
		"explain": func(ctx context.Context) error {
			_, err := ExplainFile(ctx, a, name, "http://h.test/", false)
			return err
		},
		"serve": func(ctx context.Context) error {
			files, err := OpenFiles(ctx, a, []string{name})
			if err == nil {
				files.Close()
			}
			return err
		},
		"replicas": func(ctx context.Context) error {
			_, err := FindReplicas(ctx, a, []string{name}, ReplicaOptions{})
			return err
		},
	}
}

// readByAll calls all that reads archives and folders with a name.
func readByAll(t *testing.T, a *App, name string) map[string]error {
	t.Helper()
	out := map[string]error{}
	for what, work := range everyReader(a, name) {
		out[what] = within(t, what+" of "+name, func() error { return work(t.Context()) })
	}
	return out
}

func TestPipes(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 1)
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

// In a folder, too, a pipe in the place of a file is damage.
func TestPipesInFolders(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 1)
	for _, name := range []string{phm.MetaName, phm.FilesName, "same.html"} {
		dir := filepath.Join(t.TempDir(), "mirror")
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: dir, Format: "dir"}); err != nil {
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
		files, err := OpenFiles(t.Context(), a, []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		srv, err := web.New(web.Options{Sites: files})
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

// A project of HTTrack and a folder of wget may hold pipes, and files that are larger than memory.
func TestPipesOfOthers(t *testing.T) {
	a := testApp(t.TempDir())
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
	put(t, wgot, "page.html", "<title>Page</title>")
	pipe(t, filepath.Join(wgot, "pipe.html"))
	x, err := ExplainFile(t.Context(), a, wgot, "http://h.test/page.html", false)
	if err != nil || len(x.Answers) != 1 {
		t.Errorf("explain of a folder of wget: %+v, %v", x, err)
	}
}

// What somebody else has made may be of any size: a signal ends the reading of it.
func TestReadingEnds(t *testing.T) {
	a, _, _, _ := mirrorGrowing(t, 1)
	dir := filepath.Join(t.TempDir(), "mirror")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: dir, Format: "dir"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, phm.FilesName), 1<<44); err != nil { // takes no room on the disk
		t.Skip(err)
	}
	wgot := t.TempDir()
	put(t, wgot, "page.html", "<title>Page</title>")
	if err := os.Truncate(filepath.Join(wgot, "page.html"), 1<<44); err != nil {
		t.Skip(err)
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
		_, err := CandidateHosts(ctx, testApp(t.TempDir()), []string{"-"}, r, ReplicaOptions{})
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
