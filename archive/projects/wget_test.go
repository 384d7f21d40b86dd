// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mirrord/archive/warc"
	"mirrord/site"
)

// anyNames opens files under names that are no UTF-8.
type anyNames struct{ root *os.Root }

func (f anyNames) Open(name string) (fs.File, error) { return f.root.Open(name) }

func (f anyNames) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// taken returns the records of a folder of files of h.test: addresses with the first line and the type.
func taken(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	return takenOf(t, "http://h.test/", "h.test", files)
}

// takenOf is taken of the files of another address, in a folder of that name.
func takenOf(t *testing.T, address, folder string, files map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		err := os.WriteFile(name, []byte(text), 0o644)
		if errors.Is(err, syscall.EILSEQ) {
			t.Skip(err) // the file system has names in UTF-8 only
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	base, _, err := site.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Wget(anyNames{root}, base, warc.NewWriter(&out)); err != nil {
		t.Fatal(err)
	}
	return answersIn(t, &out)
}

// answersIn returns the answers of a file of records, see taken.
func answersIn(t *testing.T, file io.Reader) map[string]string {
	t.Helper()
	r, err := warc.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := rec.Message()
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		b, err := io.ReadAll(rec)
		if err != nil {
			t.Fatal(err)
		}
		valid := ""
		if m.Header.Get("Last-Modified") != "" {
			valid = " valid"
		}
		text := []string{m.Start[9:], m.Header.Get("Content-Type"), m.Header.Get("Location"), string(b)}
		got[rec.URL()] = strings.TrimSpace(strings.Join(text, " ")) + valid
	}
}

const (
	html  = "<html><a href=x>"
	xhtml = "<?xml version='1.0'?>\n<html xmlns='http://www.w3.org/1999/xhtml'>"
)

// wantTaken compares what was taken, by URL.
func wantTaken(t *testing.T, got, want map[string]string) {
	t.Helper()
	for url, text := range want {
		if got[url] != text {
			t.Errorf("%s: %q, want %q", url, got[url], text)
		}
		delete(got, url)
	}
	if len(got) > 0 {
		t.Errorf("more: %q", got)
	}
}

// Names of files are converted back to addresses, for any bytes; pages without an ending are pages.
func TestWgetNames(t *testing.T) {
	got := taken(t, map[string]string{
		"\xe9t\xe9.html.orig": html, "\xe9t\xe9.html": "changed", // of a site in Latin-1
		"a%2Fb.html.orig": html, "a%2Fb.html": "changed",
		"\xe2%80%99.txt": "t", // of an old wget
		"100%.txt":       "t", "100%41.txt": "t",
		"Foo_(a)*!'.txt": "t",
		"x.php":          html, "y.cgi?q=\xe9%#&r=[]/?": " \n<!DOCTYPE html>", "z.php": "{}",
		"w.php": xhtml,
		// -E
		"e.php.html": "changed", "e.php.orig": html, "s.php.css": "a{}", "s.php.orig": "b{}",
	})
	wantTaken(t, got, map[string]string{
		"http://h.test/%E9t%E9.html":             "200 OK text/html  " + html + " valid",
		"http://h.test/a%2Fb.html":               "200 OK text/html  " + html + " valid",
		"http://h.test/%E2%80%99.txt":            "200 OK text/plain  t valid",
		"http://h.test/100%25.txt":               "200 OK text/plain  t valid",
		"http://h.test/100%2541.txt":             "200 OK text/plain  t valid",
		"http://h.test/Foo_(a)*!'.txt":           "200 OK text/plain  t valid",
		"http://h.test/x.php":                    "200 OK text/html  " + html + " valid",
		"http://h.test/y.cgi?q=%E9%25%23&r=[]/?": "200 OK text/html   \n<!DOCTYPE html> valid",
		"http://h.test/z.php":                    "200 OK   {} valid",
		"http://h.test/w.php":                    "200 OK text/html  " + xhtml + " valid",
		"http://h.test/e.php":                    "200 OK text/html  " + html + " valid",
		"http://h.test/s.php":                    "200 OK text/css  b{} valid",
	})
}

// Pages whose links wget changed lead to addresses with a query by the names of the files (-E), and have no
// validator: the next run is to get them as they are.
func TestWgetChanged(t *testing.T) {
	files := map[string]string{
		"index.html": html + `<a href="q.php%3Fa=1.html">`, "q.php?a=1.html": html, "i.txt": "t",
	}
	got := taken(t, files)
	for url, want := range map[string]string{
		"http://h.test/":                 "200 OK text/html  " + files["index.html"],
		"http://h.test/index.html":       "200 OK text/html  " + files["index.html"],
		"http://h.test/q.php?a=1.html":   "200 OK text/html  " + html,
		"http://h.test/i.txt":            "200 OK text/plain  t valid",
		"http://h.test/q.php%3Fa=1.html": "301 Moved Permanently  http://h.test/q.php?a=1.html",
	} {
		if got[url] != want {
			t.Errorf("%s: %q, want %q", url, got[url], want)
		}
	}
	files["index.html"] = html
	if got := taken(t, files); len(got) != 4 {
		t.Errorf("a redirect without links to it: %q", got)
	}
}

// With --restrict-file-names=windows the folder of a host with a port has a plus, and queries begin with "@".
func TestWgetWindows(t *testing.T) {
	got := takenOf(t, "http://h.test:8080/", "h.test+8080", map[string]string{
		"index.html": html + `<a href="q.php@a=1.html">`, "q.php@a=1.html": html, // -k -E
		"@user/p@q=%2Fz%3F@": "t", "st%2Ar%22%.txt": "t",
	})
	wantTaken(t, got, map[string]string{
		"http://h.test:8080/":                 "200 OK text/html  " + html + `<a href="q.php@a=1.html">`,
		"http://h.test:8080/index.html":       "200 OK text/html  " + html + `<a href="q.php@a=1.html">`,
		"http://h.test:8080/q.php?a=1.html":   "200 OK text/html  " + html,
		"http://h.test:8080/q.php@a=1.html":   "301 Moved Permanently  http://h.test:8080/q.php?a=1.html",
		"http://h.test:8080/@user/p?q=%2Fz?@": "200 OK   t valid",
		"http://h.test:8080/st*r%22%25.txt":   "200 OK text/plain  t valid",
	})
}

// A folder may lack the host (-nH), leading parts of the path (--cut-dirs), and be in another one (-P); lists
// that a server sorts have names with a query.
func TestWgetPlaces(t *testing.T) {
	for folder, inside := range map[string]string{
		"h.test": "pub/x/", ".": "pub/x/", "x": "", "h.test/x": "", "below/h.test": "pub/x/",
	} {
		dir := folder
		if folder == "x" || folder == "." {
			dir = "."
		}
		files := map[string]string{
			inside + "index.html": html, inside + "index.html?C=M;O=A": html, inside + "a.c": "int",
		}
		if folder == "x" {
			files = map[string]string{"x/index.html": html, "x/index.html?C=M;O=A": html, "x/a.c": "int"}
		}
		wantTaken(t, takenOf(t, "http://h.test/pub/x/", dir, files), map[string]string{
			"http://h.test/pub/x/":                   "200 OK text/html  " + html,
			"http://h.test/pub/x/index.html":         "200 OK text/html  " + html,
			"http://h.test/pub/x/?C=M;O=A":           "200 OK text/html  " + html,
			"http://h.test/pub/x/index.html?C=M;O=A": "200 OK text/html  " + html,
			"http://h.test/pub/x/a.c":                "200 OK   int valid",
		})
	}
	wantTaken(t, takenOf(t, "http://h.test/pub/x/", ".", map[string]string{"index.html": html}),
		map[string]string{
			"http://h.test/pub/x/":           "200 OK text/html  " + html,
			"http://h.test/pub/x/index.html": "200 OK text/html  " + html,
		})
	got := takenOf(t, "http://h.test/x.php", ".", map[string]string{"x.php.html": html}) // -E
	if got["http://h.test/x.php"] == "" {
		t.Errorf("%q", got)
	}
}
