// SPDX-License-Identifier: Apache-2.0

package care

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/serving"
	"mirrord/archive/zim"
	"mirrord/phm"
	"mirrord/serve"
	"mirrord/testing/apptest"
	"mirrord/testing/oracle"
)

// foreignZIM writes a ZIM file as other programs do, without a file table; with old the namespaces are those
// of before 2021.
func foreignZIM(t *testing.T, name string, old bool) (file string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := zim.NewWriter(f, zim.Options{Types: []string{"text/html", "image/png", "text/plain"}})
	if err != nil {
		t.Fatal(err)
	}
	add := func(namespace byte, path, kind, body string) {
		t.Helper()
		e := zim.Entry{
			Namespace: namespace,
			Path:      path,
			Type:      kind,
			Plain:     kind == "image/png",
		}
		if err := w.Add(e, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	add(zim.Content, "Start", "text/html", `<img src="a.png"><a href="Ask%3Fq=1">ask</a>`)
	add(zim.Content, "Ask?q=1", "text/html", "an answer")
	add(zim.Content, "a.png", "image/png", "0123456789")
	add(zim.Metadata, "Title", "text/plain", "A wiki")
	add(zim.Metadata, "Date", "text/plain", "2020-05-06")
	to := zim.Entry{Namespace: zim.Content, Path: "Home"}
	if err := w.Redirect(to, "Start"); err != nil {
		t.Fatal(err)
	}
	large := 1
	if !old {
		large = 20 << 10 // more than is held of a cluster
	}
	s, err := w.Stream(zim.Entry{Namespace: zim.Content, Path: "Large", Type: "text/html"}, int64(large)<<10)
	if err == nil {
		_, err = s.Write(bytes.Repeat([]byte("sixteen letters "), large<<6))
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	order := binary.LittleEndian
	z, err := zim.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	start, ok, err := z.Find(zim.Content, "Start")
	if err != nil || !ok {
		t.Fatal("no first page", err)
	}
	order.PutUint32(data[64:], uint32(start.Index))
	if old {
		order.PutUint32(data[4:], 5)
		for i := range z.Len() {
			if at := order.Uint64(data[order.Uint64(data[32:])+8*uint64(i):]); data[at+3] == zim.Content {
				data[at+3] = 'A'
			}
		}
	}
	sum := md5.Sum(data[:len(data)-md5.Size])
	copy(data[len(data)-md5.Size:], sum[:])
	apptest.Put(t, filepath.Dir(f.Name()), name, string(data))
	return f.Name()
}

func servedFiles(t *testing.T, a *env.App, files ...string) http.Handler {
	t.Helper()
	sites, err := serving.OpenFiles(t.Context(), a, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sites.Close)
	srv, err := serve.New(serve.Options{Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func ask(h http.Handler, url, ranges string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	if ranges != "" {
		r.Header.Set("Range", ranges)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ZIM files of other programs, also those of before 2021, are served by range, verified and explained.
func TestForeignZIM(t *testing.T) {
	a := apptest.TestApp(t.TempDir())
	for _, old := range []bool{false, true} {
		file := foreignZIM(t, "wiki.zim", old)
		srv := servedFiles(t, a, file)
		in := "/"
		if old {
			in = "/A/"
		}
		for _, x := range []struct {
			path, ranges, want string
			status             int
		}{
			{in + "Start", "", "<img", 200},
			{in + "Start?refresh=1", "", "<img", 200},
			{in + "Ask%3Fq=1", "", "an answer", 200},
			{in + "Ask?q=1", "", "an answer", 200},
			{in + "a.png", "bytes=3-5", "345", 206},
			{in + "Large", "bytes=-16", "sixteen letters", 206},
			{in + "Large", "bytes=32-38", "sixteen", 206},
			{in + "none", "", "not in the copy", 404},
			{"/X/listing/titleOrdered/v0", "", "not in the copy", 404},
			{"/..%2f..%2fetc%2fpasswd", "", "", 404},
		} {
			w := ask(srv, "http://wiki.localhost"+x.path, x.ranges)
			if w.Code != x.status || !strings.Contains(w.Body.String(), x.want) {
				t.Errorf("old %v: %s: %d %.200s", old, x.path, w.Code, w.Body)
			}
			if l := w.Header().Get("Link"); l != "" {
				t.Errorf("%s: the file has no original, and the answer has %s", x.path, l)
			}
		}
		for from, to := range map[string]string{"/": in + "Start", in + "Home": in + "Start"} {
			if w := ask(srv, "http://wiki.localhost"+from, ""); w.Code != 302 || w.Header().Get("Location") != to {
				t.Errorf("old %v: %s: %d %s", old, from, w.Code, w.Header().Get("Location"))
			}
		}
		list := ask(srv, "http://localhost/.well-known/mirrord/sites", "").Body.String()
		if !strings.Contains(list, `"A wiki"`) || strings.Contains(list, "invalid") {
			t.Errorf("the list: %s", list)
		}
		report, err := Verify(t.Context(), a, file, true)
		if err != nil || report.Count() != 0 || report.Files < 6 {
			t.Errorf("verify: %+v, %v", report, err)
		}
		x, err := archives.ExplainFile(t.Context(), a, file, in[1:]+"Home", false)
		if err != nil || x.Entry == nil || x.Entry.Path != "Start" || x.Entry.Type != "text/html" {
			t.Errorf("explain: %v, %+v", err, x)
		}
		if _, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file},
			As: "wiki"}); err == nil ||
			!strings.Contains(err.Error(), "a ZIM file of another program") {
			t.Errorf("import: %v", err)
		}
	}
}

// Damage in a ZIM file of another program is found by verify, and concerns only the content at that place.
func TestForeignZIMDamaged(t *testing.T) {
	a := apptest.TestApp(t.TempDir())
	file := foreignZIM(t, "wiki.zim", true)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	order := binary.LittleEndian
	paths, clusters := order.Uint64(whole[32:]), order.Uint64(whole[48:])
	for name, x := range map[string]struct {
		edit func(b []byte)
		want string
	}{
		"a bit":           {func(b []byte) { b[len(b)-17] ^= 1 }, "MD5"},
		"an entry's byte": {func(b []byte) { order.PutUint64(b[paths+8:], 1<<40) }, "entry 1 is said to be at"},
		"order": {func(b []byte) {
			copy(b[paths:], append(slices.Clone(b[paths+8:paths+16]), b[paths:paths+8]...))
		}, "is not sorted"},
		"a cluster's byte": {func(b []byte) { order.PutUint64(b[clusters:], 3) }, "cluster 0 is said to be at"},
		"LZMA":             {func(b []byte) { b[order.Uint64(b[clusters:])] = 4 }, "LZMA"},
		"an unknown way":   {func(b []byte) { b[order.Uint64(b[clusters:])] = 9 }, "unknown way 9"},
		"broken zstd": {func(b []byte) {
			const packed = 5
			at := order.Uint64(b[clusters:])
			for i := clusters; b[at] != packed; at = order.Uint64(b[i:]) {
				i += 8
			}
			b[at+3] ^= 0xff
		}, "magic"},
	} {
		b := slices.Clone(whole)
		x.edit(b)
		apptest.Put(t, filepath.Dir(file), "bad.zim", string(b))
		bad := filepath.Join(filepath.Dir(file), "bad.zim")
		report, err := Verify(t.Context(), a, bad, true)
		if err != nil || report.Count() == 0 || report.Count() > 40 {
			t.Errorf("%s: %+v, %v", name, report, err)
			continue
		}
		said := func(p phm.Problem) bool { return strings.Contains(p.Detail, x.want) }
		if !slices.ContainsFunc(report.Problems, said) {
			t.Errorf("%s: no %q in %+v", name, x.want, report.Problems)
		}
		sites, err := serving.OpenFiles(t.Context(), a, []string{bad})
		if err != nil {
			continue // its first page cannot be found
		}
		srv, err := serve.New(serve.Options{Sites: sites})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/A/Start", "/A/Large", "/A/a.png", "/A/Home", "/none"} {
			w := ask(srv, "http://bad.localhost"+path, "")
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: %s: %d", name, path, w.Code)
			}
		}
		sites.Close()
	}
}

// A file that zimwriterfs wrote is served and verified.
func TestServeOfZimwriterfs(t *testing.T) {
	program := oracle.Program(t, "zimwriterfs", "zim-tools")
	dir := filepath.Join(t.TempDir(), "site")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 48, 48))); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, dir, "index.html", "<title>Begin</title><a href=two.html>two</a><img src=i.png>")
	apptest.Put(t, dir, "two.html", "<title>Two</title>the second page")
	apptest.Put(t, dir, "i.png", picture.String())
	file := filepath.Join(t.TempDir(), "fs.zim")
	cmd := exec.CommandContext(t.Context(), program, "-w", "index.html", "-I", "i.png", "-l", "eng", "-n", "fs",
		"-t", "A folder", "-d", "about it", "-c", "me", "-p", "us", dir, file)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	a := apptest.TestApp(t.TempDir())
	report, err := Verify(t.Context(), a, file, true)
	if err != nil || report.Count() != 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	srv := servedFiles(t, a, file)
	for path, want := range map[string]string{
		"/index.html": "<a href=two.html>", "/two.html": "the second page", "/i.png": "PNG",
	} {
		w := ask(srv, "http://fs.localhost"+path, "")
		if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.100s", path, w.Code, w.Body)
		}
	}
	if w := ask(srv, "http://fs.localhost/", ""); w.Header().Get("Location") != "/index.html" {
		t.Errorf("/ redirects to %q", w.Header().Get("Location"))
	}
}
