// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mirrord/archive/crawls"
)

// recordedFile is a WARC file of answers: URL, date, head and body of each.
func recordedFile(t *testing.T, answers ...[3]string) *crawls.Recordings {
	t.Helper()
	var b bytes.Buffer
	for _, a := range answers {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + a[2]
		if rest, ok := strings.CutPrefix(a[2], "HTTP/"); ok {
			block = "HTTP/" + rest
		}
		fmt.Fprintf(&b, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\n"+
			"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			a[0], a[1], len(block), block)
	}
	in := crawls.RecordFile{Name: "x.warc", R: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
	arch, err := crawls.Read([]crawls.RecordFile{in}, crawls.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return arch
}

// A web archive is served with links that lead to what the crawl has, each crawl at its time.
func TestRecorded(t *testing.T) {
	const old, young = "2024-05-01T10:00:00Z", "2024-06-01T10:00:00Z"
	var files Files
	arch := recordedFile(t,
		[3]string{"https://h.test/", old, `<title>Old</title><a href="/docs/">d</a>`},
		[3]string{"https://h.test/docs/", old, `<a href="https://h.test/find?q=a/b&amp;r=%3F">f</a>` +
			` <a href="/lost">l</a><link rel=stylesheet href="//cdn.test:8080/a/s.css"><a href="moved">m</a> <a href="../docs/?">e</a>`},
		[3]string{"https://h.test/docs/?", old, "empty query"},
		[3]string{"https://h.test/find?q=a/b&r=%3F", old, `found <a href="docs/">d</a>`},
		[3]string{"https://h.test/docs/moved", old, "HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"},
		[3]string{"https://h.test/error", old, "HTTP/1.1 500 Broken\r\n\r\nbroken"},
		[3]string{"https://cdn.test:8080/a/s.css", old,
			"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n@import url(https://cdn.test:8080/b.css)"},
		[3]string{"https://cdn.test:8080/b.css", old, "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\nb{}"},
		[3]string{"https://h.test/", young, `<title>Young</title><a href="/docs/">d</a>`},
	)
	if err := files.AddRecorded(t.Context(), "old", "WARC", arch, io.NopCloser(nil)); err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := files.AddRecorded(t.Context(), "old", "WARC", arch, io.NopCloser(nil)); err == nil {
		t.Error("two archives have one name")
	}
	srv, err := New(Options{Sites: &files})
	if err != nil {
		t.Fatal(err)
	}
	get := func(at string) (int, string, http.Header) {
		r := httptest.NewRequest(http.MethodGet, at, nil)
		r.Header.Set("Referer", "http://old.localhost/")
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		return w.Code, w.Body.String(), w.Header()
	}
	reference := regexp.MustCompile(`(?:href="|url\()([^")]*)`)
	for at, want := range map[string]map[string]string{ // address: what its links lead to
		"http://old.localhost/": {"docs/": "find"},
		"http://old.localhost/docs/": {"q=": "found", "s.css": "@import", "moved": "/", "lost": "",
			"docs/?": "empty query"},
		"http://old.localhost/.well-known/mirrord/memento/20240502000000/https://h.test/docs/": {"q=": "found"},
		"http://localhost/old/docs/": {"q=": "found", "s.css": "@import"},
	} {
		code, body, _ := get(at)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", at, code, body)
			continue
		}
		base, _ := url.Parse(at)
		for _, m := range reference.FindAllStringSubmatch(body, -1) {
			for sign, found := range want {
				plain, _ := url.PathUnescape(m[1])
				if !strings.Contains(plain, sign) {
					continue
				}
				if found == "" {
					if m[1] != "https://h.test/lost" {
						t.Errorf("%s: %s links to %s", at, sign, m[1])
					}
					continue
				}
				ref, err := base.Parse(m[1])
				if err != nil {
					t.Fatal(err)
				}
				code, body, h := get(ref.String())
				if !strings.Contains(body+h.Get("Location"), found) || code >= 400 {
					t.Errorf("%s: %s is %d %s", at, ref, code, body)
				}
			}
		}
	}
	for at, want := range map[string]string{
		"http://old.localhost/": "Young",
		"http://old.localhost/.well-known/mirrord/memento/20240502000000/https://h.test/": "Old",
	} {
		if code, body, _ := get(at); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", at, code, body)
		}
	}
	for _, path := range []string{"error", "@none", "@:/", "docs/?x=%zz", "@https:cdn.test:8080/none.css"} {
		at := "http://old.localhost/" + path
		if code, _, _ := get(at); code != http.StatusNotFound {
			t.Errorf("%s: %d", at, code)
		}
	}
}

// A crawl in which nothing changed is no version.
func TestRecordedVersions(t *testing.T) {
	const days, each = 500, 50
	var answers [][3]string
	for day := range days {
		date := time.Date(2020, 1, 1+day, 10, 0, 0, 0, time.UTC).Format(time.RFC3339)
		answers = append(answers,
			[3]string{"https://h.test/", date, `<title>h</title><a href="/p">p</a>`},
			[3]string{"https://h.test/p", date, fmt.Sprintf("text %d", day/each)})
	}
	var files Files
	arch := recordedFile(t, answers...)
	if err := files.AddRecorded(t.Context(), "h", "WARC", arch, io.NopCloser(nil)); err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s, err := files.Site("h")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Versions()
	if err != nil || len(all) != days/each {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	for i, v := range all {
		snap, err := s.Snapshot(t.Context(), v.Number)
		if err != nil {
			t.Fatal(err)
		}
		r, ok, err := snap.Table.At("p")
		if err != nil || !ok {
			t.Fatalf("version %d: %v, %v", v.Number, ok, err)
		}
		f, err := snap.Table.Open(r)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != fmt.Sprintf("text %d", i) || v.Number != i+1 {
			t.Errorf("version %d of %v: %q, %v", v.Number, v.Time, b, err)
		}
	}
}
