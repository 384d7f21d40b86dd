// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// badSector is a mirror on a disk that does not give some of its files back.
type badSector struct {
	*killedJob
	files   map[string][]string // below the state, by what they are
	version atomic.Int64        // of the site
}

func newBadSector(t *testing.T) *badSector {
	t.Helper()
	b := &badSector{killedJob: straced(t)}
	b.version.Store(1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>a</title><a href="/b.html">b</a><img src="i.png">%d`, b.version.Load())
		case "/b.html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>b</title><a href="http://%s/">home</a>`, r.Host)
		case "/i.png":
			fmt.Fprint(w, "\x89PNG\r\n\x1a\n picture")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	b.site = srv.URL + "/"
	put(t, filepath.Join(b.ready, "jobs"), "a.toml", fmt.Sprintf(
		"url = %q\npolite.delay = \"0s\"\npolite.factor = 0.0\npublish.keep = \"all\"\n", b.site))
	b.do(t, b.ready, cli.ExitOK, "run-now", "a")
	b.version.Store(2)
	b.do(t, b.ready, cli.ExitOK, "run-now", "a", "--full")
	blobs, err := filepath.Glob(b.ready + "/state/blobs/??/*")
	if len(blobs) != 1 || err != nil {
		t.Fatal(blobs, err)
	}
	blob, err := filepath.Rel(b.ready+"/state", blobs[0])
	if err != nil {
		t.Fatal(err)
	}
	b.files = map[string][]string{
		"pack":      {"sites/a/packs/000001.pack"},
		"page":      {"sites/a/trees/000002/b.html"},
		"phm.files": {"sites/a/trees/000002/phm.files"},
		"blob":      {blob, "sites/a/trees/000002/i.png", "sites/a/trees/000001/i.png"},
	}
	return b
}

// in copies the mirror and runs a command there that cannot read the named file.
func (b *badSector) in(t *testing.T, dir, what string, code int, words ...string) string {
	t.Helper()
	return b.failing(t, dir, what, "read,pread64,copy_file_range,sendfile", b.files[what], code, words...)
}

// failing runs a command in which calls of the system fail for some files of the state.
func (b *badSector) failing(
	t *testing.T, dir, what, calls string, files []string, code int, words ...string,
) string {
	t.Helper()
	args := []string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls,
		"-e", "inject=" + calls + ":error=EIO"}
	for _, f := range files {
		args = append(args, "-P", filepath.Join(dir, "state", f))
	}
	args = append(append(args, "mirrord"), b.args(dir, words...)...)
	out, err := exec.Command(b.strace, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, got := string(out), 0
	if exit != nil {
		got = exit.ExitCode()
	}
	if got != code {
		t.Errorf("%s: mirrord %s: exit code %d, want %d:\n%s", what, strings.Join(words, " "), got, code, text)
	}
	noTrace(t, what, text)
	return text
}

// A sector that cannot be read is damage like any other: each command finds it and names the file, and does
// what it can without it; and afterwards everything is there again.
func TestUnreadableSectors(t *testing.T) {
	b := newBadSector(t)
	for _, tc := range []struct {
		what  string
		words []string
		code  int
		names bool // the disk, with what to do
	}{
		{"pack", []string{"verify", "a"}, cli.ExitError, true},
		{"pack", []string{"verify", "--repair", "a"}, cli.ExitError, true},
		{"pack", []string{"export", "a", "-o", "OUT"}, cli.ExitOK, false},
		{"pack", []string{"export", "a", "--version", "1", "-o", "OUT"}, cli.ExitError, true},
		{"pack", []string{"rollback", "a", "1"}, cli.ExitPartial, true},
		{"page", []string{"verify", "a"}, cli.ExitError, true},
		{"page", []string{"verify", "--repair", "a"}, cli.ExitError, true},
		{"page", []string{"export", "a", "-o", "OUT"}, cli.ExitOK, false},
		{"phm.files", []string{"run-now", "a"}, cli.ExitOK, false},
		{"phm.files", []string{"export", "a", "-o", "OUT"}, cli.ExitOK, true},
		{"phm.files", []string{"export", "a", "--version", "1", "-o", "OUT"}, cli.ExitOK, false},
		{"blob", []string{"verify", "a"}, cli.ExitError, true},
		{"blob", []string{"export", "a", "-o", "OUT"}, cli.ExitError, true},
		{"blob", []string{"export", "a", "--version", "1", "-o", "OUT"}, cli.ExitError, true},
		{"page", []string{"run-now", "a", "--full"}, cli.ExitOK, true}, // of a new version, which would link it
	} {
		t.Run(tc.what+" "+strings.Join(tc.words, " "), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if out, err := exec.Command("cp", "-a", b.ready, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			words := append([]string(nil), tc.words...)
			if last := len(words) - 1; words[last] == "OUT" {
				words[last] = filepath.Join(dir, "out.phm")
			}
			if words[len(words)-1] == "--full" {
				b.version.Store(3)
			}
			text := b.in(t, dir, tc.what, tc.code, words...)
			says := strings.Contains(text, "input/output error") && strings.Contains(text, "smartctl") &&
				strings.Contains(text, filepath.Base(b.files[tc.what][0])[:6])
			if tc.names && !says {
				t.Errorf("it does not name the disk and the file:\n%s", text)
			}
			if _, err := os.Stat(filepath.Join(dir, "out.phm")); err == nil {
				b.do(t, dir, cli.ExitOK, "verify", filepath.Join(dir, "out.phm"))
			}
			b.do(t, dir, cli.ExitOK, "run-now", "a")
			b.do(t, dir, cli.ExitOK, "verify", "a")
		})
	}
}

// A frame that cannot be written because the sector that it would share with the frame before is lost goes
// into the next pack, whether that shows when the pack is opened or when the frame is written.
func TestUnwritableEndOfPack(t *testing.T) {
	b := newBadSector(t)
	pack := "sites/a/packs/000001.pack"
	for call, before := range map[string]func(dir string){
		"pwrite64": func(string) {},
		"ftruncate": func(dir string) { // of a frame that was never committed
			f, err := os.OpenFile(filepath.Join(dir, "state", pack), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString("torn")
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(call, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if out, err := exec.Command("cp", "-a", b.ready, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			before(dir)
			b.version.Add(1)
			b.failing(t, dir, call, call, []string{pack}, cli.ExitOK, "run-now", "a", "--full")
			next := filepath.Join(dir, "state/sites/a/packs/000002.pack")
			if fi, err := os.Stat(next); err != nil || fi.Size() == 0 {
				t.Errorf("the next pack: %v", err)
			}
			b.do(t, dir, cli.ExitOK, "verify", "a")
			b.do(t, dir, cli.ExitOK, "export", "a", "--version", "1", "-o", filepath.Join(dir, "out.phm"))
		})
	}
}
