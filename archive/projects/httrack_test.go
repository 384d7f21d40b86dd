// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/archive/warc"
)

// cached is an entry of new.zip as HTTrack 3.43 to 3.49 write it.
func cached(t *testing.T, z *zip.Writer, url, head, body string) {
	t.Helper()
	h := &zip.FileHeader{
		Name:               url,
		CRC32:              crc32.ChecksumIEEE([]byte(body)),
		CompressedSize64:   uint64(len(body)),
		UncompressedSize64: uint64(len(body)),
		Extra:              []byte(strings.ReplaceAll(head, "\n", "\r\n")),
	}
	w, err := z.CreateRaw(h)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, body)
}

// project is a project of HTTrack.
func project(t *testing.T) fstest.MapFS {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	cached(t, z, "http://h.test/a:", "HTTP/1.1 200 OK\nX-In-Cache: 1\nX-StatusCode: 200\nX-Size: 5\n"+
		"Content-Type: text/html\nX-Charset: utf-8\nEtag: \"e1\"\nX-Fil: /\nX-Save: h.test/index.html\n", "page.")
	cached(t, z, "h.test/i.png", "HTTP/1.1 200 OK\nX-In-Cache: 0\nX-Size: 3\nContent-Type: image/png\n"+
		"Last-Modified: Wed, 01 May 2019 10:00:00 GMT\nX-Save: /home/me/old/h.test/i.png\n", "")
	const file = "HTTP/1.1 200 OK\nX-In-Cache: 0\n"
	cached(t, z, "http://h.test/cut.png", file+"X-Size: 9\nX-Save: h.test/i.png\n", "")
	cached(t, z, "http://h.test/evil", file+"X-Size: 4\nX-Save: ../../etc/passwd\n", "")
	cached(t, z, "http://h.test/i.png#part", "HTTP/1.1 404 Not Found\nX-In-Cache: 1\nX-Size: 0\n", "")
	cached(t, z, "http://h.test/old", "HTTP/1.1 301 Moved\nX-In-Cache: 0\nLocation: /\nX-Fil: /old\n", "")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	// package archive/zip writes no body for a name that ends in a slash
	cache := bytes.ReplaceAll(b.Bytes(), []byte("h.test/a:"), []byte("h.test/a/"))
	started := "-qwC2%Ps2 -F \"Mozilla 5.0\" http://h.test/ -O1 /home/me/old +*.png -*\nFile generated\n"
	return fstest.MapFS{
		cacheName:      {Data: cache, Mode: 0o644, ModTime: time.Date(2019, 5, 1, 10, 0, 0, 0, time.UTC)},
		logName:        {Data: []byte(started)},
		"h.test/i.png": {Data: []byte("png")},
	}
}

// A project of HTTrack gives URLs, validators and the original bytes; what its files lack is counted.
func TestHTTrack(t *testing.T) {
	dir := project(t)
	if !IsHTTrack(dir) || IsHTTrack(fstest.MapFS{}) {
		t.Error("it is not known by its cache")
	}
	var out bytes.Buffer
	got, err := HTTrack(dir, warc.NewWriter(&out))
	if err != nil || got.Answers != 3 || got.Lost != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	var text strings.Builder
	r, err := warc.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rec)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %s %s\n%s\n", rec.Type(), rec.URL(), rec.Date().Format(time.DateOnly), b)
	}
	for _, want := range []string{
		"mirrord-url: http://h.test/\r\n\n",
		"http://h.test/a/ 2019-05-01\nHTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" +
			"Etag: \"e1\"\r\n\r\npage.",
		"http://h.test/i.png 2019-05-01\nHTTP/1.1 200 OK\r\nContent-Type: image/png\r\n" +
			"Last-Modified: Wed, 01 May 2019 10:00:00 GMT\r\n\r\npng",
		"http://h.test/old 2019-05-01\nHTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%q", want, text.String())
		}
	}
	bad := fstest.MapFS{cacheName: {Data: []byte("PK no zip"), Mode: 0o644}}
	_, err = HTTrack(bad, warc.NewWriter(io.Discard))
	if err == nil || !strings.Contains(err.Error(), cacheName) {
		t.Errorf("a damaged cache: %v", err)
	}
}

// A project without its cache gives the files of its hosts, at the addresses that pages and table say.
func TestHTTrackFiles(t *testing.T) {
	const mark = "\n<!-- Mirrored from h.test%s by HTTrack Website Copier/3.x [XR&CO'2014], Wed, 01 May 2019 " +
		"10:00:00 GMT -->\n"
	const added = `<!-- Added by HTTrack --><meta http-equiv="content-type" content="text/html;charset=utf-8" />` +
		"<!-- /Added by HTTrack -->\n"
	dir := fstest.MapFS{
		notesName: {Data: []byte(
			"HTTrack3.49-2 launched on Wed, 01 May 2019 10:00:00 at h.test:8080/ +*.png\r\nx")},
		tableName: {Data: []byte("date\tsize\n10:00:00\t3/3\t---M--\t200\tadded ('OK')\tx\tdate:x\t" +
			"http://h.test:8080/q?x=1\t/old/h.test_8080/qa255\t(from )\n")},
		"index.html": {Data: []byte("HTTrack's own")},
		"h.test_8080/index.html": {
			Data: []byte("<html>" + fmt.Sprintf(mark, ":8080/") + added + "<a href=qa255?x=1>"),
		},
		"h.test_8080/a.html": {Data: []byte("<html>" + fmt.Sprintf(mark, "/a") + "a")},
		"h.test_8080/qa255":  {Data: []byte("q")},
		"h.test_8080/i.png":  {Data: []byte("png")},
	}
	for _, f := range dir {
		f.Mode = 0o644
	}
	if !IsHTTrack(dir) {
		t.Error("it is not known by its log")
	}
	var out bytes.Buffer
	got, err := HTTrack(dir, warc.NewWriter(&out))
	if err != nil || got.Answers != 4 || got.Guessed != 2 || !got.Uncached {
		t.Fatalf("%+v, %v", got, err)
	}
	wantTaken(t, answersIn(t, &out), map[string]string{
		"http://h.test:8080/":           "200 OK text/html  <html>\n<a href=qa255?x=1>",
		"http://h.test:8080/index.html": "301 Moved Permanently  http://h.test:8080/",
		"http://h.test/a":               "200 OK text/html  <html>\na",
		"http://h.test:8080/a.html":     "301 Moved Permanently  http://h.test/a",
		"http://h.test:8080/q?x=1":      "200 OK   q valid",
		"http://h.test:8080/qa255":      "301 Moved Permanently  http://h.test:8080/q?x=1",
		"http://h.test:8080/qa255?x=1":  "301 Moved Permanently  http://h.test:8080/q?x=1",
		"http://h.test:8080/i.png":      "200 OK image/png  png valid",
	})
	delete(dir, notesName)
	if _, err := httrackFiles(dir, warc.NewWriter(io.Discard)); !errors.Is(err, errNoStart) {
		t.Errorf("without a log: %v", err)
	}
}
