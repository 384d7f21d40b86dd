// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
	"mirrord/phm"
	"mirrord/testing/oracle"
)

// A corpus is a site of other people: the documentation in a Debian package.
type corpus struct {
	pkg  string
	root string // of the site below the package's tree; a pattern, because versions stand in some
	seed string // where the documentation begins, below root
}

// corpora are the packages of .ci/corpus; the ordinary tests take the first ones.
func corpora() []corpus {
	all := []corpus{
		// Sphinx; links that lead out of the package are dead
		{"debian-policy", "usr/share/doc/debian-policy", "perl-policy.html/"},
		{"libatinject-jsr330-api-java-doc", "usr/share/doc/libatinject-jsr330-api-java", "api/"},
		{"debian-policy", "usr/share/doc/debian-policy", "policy.html/"},
		{"libjsoup-java-doc", "usr/share/doc/libjsoup-java", "api/"},
		{"git-doc", "usr/share/doc/git-doc", ""},
		{"libgtk-3-doc", "usr/share/gtk-doc/html", "gtk3/"},
		{"postgresql-doc", "usr/share/doc/postgresql-doc-*/html", ""},
		{"python3-doc", "usr/share/doc/python3.[0-9]*[0-9]/html", ""},
	}
	if os.Getenv("MIRRORD_LONG") == "" {
		return all[:2]
	}
	return all
}

// dir finds the site on the disk.
func (c corpus) dir(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("MIRRORD_CORPUS")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "mirrord-corpus")
	}
	found, err := filepath.Glob(filepath.Join(cache, c.pkg, filepath.FromSlash(c.root)))
	if err != nil || len(found) != 1 {
		t.Fatalf(
			"the documentation of %s is not in %s: run .ci/corpus %s, or name the folder of another place in "+
				"MIRRORD_CORPUS (%v, %q)", c.pkg, cache, c.pkg, err, found)
	}
	return found[0]
}

// variants are pages beside the documentation, with the names and links that make mirrors trip: a directory's
// two addresses, with one and with two contents, "~", blanks, names that are not ASCII or differ in case
// only, queries.
func variants(seed string) map[string]string {
	page := func(title, body string) string {
		return "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>" + title + "</title><p>" + title +
			"\n" + body
	}
	link := func(refs ...string) (s string) {
		for _, r := range refs {
			s += "<a href=\"" + r + "\">" + r + "</a>\n"
		}
		return s
	}
	home := page("Variants", link("/", "index.html", "/index.html#top", "tree/"+seed, "tree/"+seed+"index.html",
		"~user/", "/~user/index.html", "two/", "two/index.html", "a%20b.html", "/a b.html",
		"caf%C3%A9/", "café/naïve%20page.html", "cafe%CC%81.html", "Case.html", "case.html", "CASE/x.html",
		"case/x.html", "x.html?a=1&amp;b=~", "x.html?a=2", "file~1.html", "(odd)'name!.html", "aux/con.html",
		"latin%E9.html"))
	out := map[string]string{"/": home, "/index.html": home}
	user := page("A user", link("../", "../index.html", "/~user/", "picture~.svg")+
		`<img src="picture~.svg"><img src="/caf%C3%A9/%C3%BC.svg">`)
	out["/~user/"], out["/~user/index.html"] = user, user
	out["/two/"], out["/two/index.html"] = page("A directory", link("index.html")),
		page("Its index, which says something else", link("./"))
	for _, p := range []string{
		"/a b.html", "/café/", "/café/naïve page.html", "/cafe\u0301.html", "/Case.html", "/case.html",
		"/CASE/x.html", "/case/x.html", "/x.html", "/file~1.html", "/(odd)'name!.html", "/aux/con.html",
		"/latin\xe9.html",
	} {
		out[p] = page("Page "+strings.ToValidUTF8(p, "?"), link("/", "/Case.html", "/case.html"))
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg"><circle r="%d"/></svg>`
	out["/~user/picture~.svg"], out["/café/ü.svg"] = fmt.Sprintf(svg, 1), fmt.Sprintf(svg, 2)
	return out
}

// serve serves the documentation below /tree/ and the variants beside it. Unlike http.FileServer it sends a
// directory's index under both addresses, as the servers of the world do.
func (c corpus) serve(t *testing.T) *httptest.Server {
	t.Helper()
	root, err := os.OpenRoot(c.dir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	pages, when := variants(c.seed), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, below := strings.CutPrefix(r.URL.Path, "/tree/")
		if !below {
			body, ok := pages[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			file := r.URL.Path
			if strings.HasSuffix(file, "/") {
				file += "index.html"
			}
			if r.URL.RawQuery != "" {
				body += "<p>" + r.URL.RawQuery
			}
			http.ServeContent(w, r, file, when, strings.NewReader(body))
			return
		}
		slash := strings.HasSuffix(r.URL.Path, "/")
		name = path.Join(".", name)
		if fi, err := root.Stat(name); err == nil && fi.IsDir() {
			if !slash {
				http.Redirect(w, r, r.URL.EscapedPath()+"/", http.StatusMovedPermanently)
				return
			}
			name = path.Join(name, "index.html")
		}
		f, err := root.Open(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil || fi.IsDir() {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, fi.ModTime(), f)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestCorpusInBulk takes sites of other people through the whole way, out and back: get, verify, export in
// every form, verify each, import each, verify that, run the job on it, and export it again with the same
// files. An import from a web archive has the files that the crawl made, too.
func TestCorpusInBulk(t *testing.T) {
	for _, c := range corpora() {
		t.Run(path.Join(c.pkg, c.seed), func(t *testing.T) {
			t.Parallel()
			srv := c.serve(t)
			w := &corpusWay{
				t:    t,
				dir:  t.TempDir(),
				url:  srv.URL + "/",
				fast: []string{"polite.delay=0s", "polite.factor=0", "polite.connections=4"},
			}
			w.way(os.Getenv("MIRRORD_LONG") != "")
		})
	}
}

type corpusWay struct {
	t    *testing.T
	dir  string // of all files
	url  string
	fast []string
}

func (w *corpusWay) at(name string) string { return filepath.Join(w.dir, name) }

// do runs a command that must succeed.
func (w *corpusWay) do(args ...string) string {
	w.t.Helper()
	code, out, errs := runArgs(w.t, nil, args...)
	if code != cli.ExitOK {
		w.t.Fatalf("mirrord %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// table reads the file table of an archive: URL, type and digest by path.
func (w *corpusWay) table(name string) map[string]string {
	w.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	form, err := phm.Open(bytes.NewReader(data), int64(len(data)), phm.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := form.Open(phm.FilesName)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for f, err := range phm.Files(f) {
		if err != nil {
			w.t.Fatal(err)
		}
		out[f.Path] = f.URL + " " + f.Type + " " + f.SHA256
	}
	return out
}

// corpusForms are the exports, by file name.
func corpusForms() map[string][]string {
	return map[string][]string{
		"whole.phm": nil, "whole.tar.zst": nil, "whole": nil, "whole.zim": nil,
		"flat.phm": {"--flatten"}, "small.phm": {"--mask", "images,application/pdf"},
		"flatsmall.tar.zst": {"--flatten", "--mask", "images,text/css"},
	}
}

func (w *corpusWay) way(long bool) {
	t, st, back := w.t, w.at("state"), w.at("back")
	get := []string{"get", w.url, "--state", st, "-o", w.at("got.phm")}
	jobFile := "url = \"" + w.url + "\"\n"
	for _, s := range w.fast {
		get = append(get, "--set", s)
		key, value, _ := strings.Cut(s, "=")
		if value == "0s" {
			value = `"0s"`
		}
		jobFile += key + " = " + value + "\n"
	}
	w.do(get...)
	name := job.NameFor(job.Default(w.url).Seeds()[0])
	w.do("verify", name, "--state", st)
	w.do("verify", w.at("got.phm"))
	if err := os.Mkdir(w.at("jobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	forms := corpusForms()
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		w.do(append([]string{"export", name, "--state", st, "-o", w.at(form)}, forms[form]...)...)
		w.do("verify", w.at(form))
	}
	got, whole := w.bytes("got.phm"), w.bytes("whole.phm")
	if !bytes.Equal(got, whole) {
		t.Error("get -o and export write two archives of one version")
	}
	want := w.table(w.at("whole.phm"))
	if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(p string) bool {
		return strings.Contains(p, "~")
	}) {
		t.Error("no name has a ~")
	}
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		as := strings.ReplaceAll(form, ".", "-")
		w.do("import", w.at(form), "--as", as, "--state", back)
		w.do("verify", as, "--state", back)
		if len(forms[form]) == 0 {
			w.do("export", as, "--state", back, "-o", w.at("again.phm"))
			if !bytes.Equal(w.bytes("again.phm"), whole) {
				t.Errorf("%s: imported and exported it is another archive", form)
			}
		}
		if !long && form != "whole.phm" {
			continue
		}
		if err := os.WriteFile(filepath.Join(w.at("jobs"), as+".toml"), []byte(jobFile), 0o644); err != nil {
			t.Fatal(err)
		}
		w.do("run-now", as, "--jobs", w.at("jobs"), "--state", back)
		w.do("verify", as, "--state", back)
		w.do("export", as, "--state", back, "-o", w.at("again.phm"))
		if now := w.table(w.at("again.phm")); !maps.Equal(now, want) {
			t.Errorf("%s: after a run on what was imported the files differ: %s", form, difference(want, now))
		}
	}
	w.captures(name, jobFile, want)
	w.foreign()
}

// captures takes the mirror through the web archives. An import reads and relocates each of their pages
// again, so the files can only be the same if that does what the crawl did.
func (w *corpusWay) captures(name, jobFile string, want map[string]string) {
	for _, form := range []string{"whole.warc.gz", "whole.wacz"} {
		as := strings.ReplaceAll(form, ".", "-")
		if err := os.WriteFile(filepath.Join(w.at("jobs"), as+".toml"), []byte(jobFile), 0o644); err != nil {
			w.t.Fatal(err)
		}
		w.do("export", name, "--state", w.at("state"), "-o", w.at(form))
		w.do("verify", w.at(form))
		w.do("import", w.at(form), "--as", as, "--jobs", w.at("jobs"), "--state", w.at("back"))
		w.do("verify", as, "--state", w.at("back"))
		w.do("export", as, "--state", w.at("back"), "-o", w.at("again.phm"))
		if now := w.table(w.at("again.phm")); !maps.Equal(now, want) {
			w.t.Errorf("%s: the crawl made other files: %s", form, difference(now, want))
		}
	}
}

func (w *corpusWay) bytes(name string) []byte {
	w.t.Helper()
	b, err := os.ReadFile(w.at(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// difference names the first files that differ.
func difference(a, b map[string]string) string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(a)) {
		if b[p] != a[p] {
			out = append(out, fmt.Sprintf("\n%s: %s, now %q", p, a[p], b[p]))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[p]; !ok {
			out = append(out, fmt.Sprintf("\n%s: new, %s", p, b[p]))
		}
	}
	return fmt.Sprint(len(out)) + strings.Join(out[:min(len(out), 8)], "")
}

// foreign has other people's programs unpack the archives; the result is the directory form.
func (w *corpusWay) foreign() {
	oracle.Zimcheck(w.t, w.at("whole.zim"))
	for name, command := range map[string][]string{
		"unzip":   {"unzip", "-q", w.at("whole.phm"), "-d"},
		"python3": {"python3", "-m", "zipfile", "-e", w.at("whole.phm")},
		"bsdtar":  {"bsdtar", "-xf", w.at("whole.phm"), "-C"},
		"tar":     {"tar", "--zstd", "--strip-components=1", "-xf", w.at("whole.tar.zst"), "-C"},
	} {
		program := name
		if name == "tar" {
			program = "zstd" // tar calls it
		}
		if _, err := exec.LookPath(program); err != nil {
			if name == "unzip" {
				w.t.Error("unzip is not installed: apt-get install unzip")
			}
			continue // one reader of others is enough
		}
		out := w.at("by-" + name)
		if err := os.Mkdir(out, 0o755); err != nil {
			w.t.Fatal(err)
		}
		cmd := exec.CommandContext(w.t.Context(), command[0], append(command[1:], out)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		if said, err := cmd.CombinedOutput(); err != nil {
			w.t.Errorf("%s: %v\n%s", name, err, said)
			continue
		}
		report, err := phm.Verify(os.DirFS(out), phm.VerifyOptions{})
		if err == nil {
			err = report.Err()
		}
		if err != nil {
			w.t.Errorf("unpacked by %s: %v", name, err)
		}
	}
}
