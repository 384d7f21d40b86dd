// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/testing/badserver"
	"mirrord/testing/mirrortest"
)

// unpacking stores files named .gz without the coding of its label.
type unpacking struct {
	source.Fetcher
	text string
}

func (f unpacking) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if strings.HasSuffix(req.URL.Path(), ".gz") {
		sink = unpackedBody{sink, f.text}
	}
	return f.Fetcher.Do(ctx, req, sink)
}

type unpackedBody struct {
	fetch.Sink
	text string
}

func (s unpackedBody) Begin(h *fetch.Head) (io.Writer, error) {
	h.MIME, h.Length = "text/plain", -1
	w, err := s.Sink.Begin(h)
	if err == nil {
		_, err = io.WriteString(w, s.text)
	}
	return io.Discard, err
}

// A packed file that the server labels as coded is published as it came. A copy that was stored unpacked is
// requested once without conditions.
func TestPackedNames(t *testing.T) {
	files := map[string]string{
		"paper.ps.gz":  "application/postscript",
		"Packages.gz":  "text/plain; charset=utf-8",
		"ls.1.gz":      "application/x-troff-man",
		"table.csv.gz": "text/csv",
		"a.warc.gz":    "application/warc",
		"src.tar.gz":   "application/x-tar",
	}
	const text = "Package: x\n"
	packed := badserver.Encode("gzip", []byte(text))
	plain := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		switch {
		case name == "":
			w.Header().Set("Content-Type", "text/html")
			for _, f := range slices.Sorted(maps.Keys(files)) {
				fmt.Fprintf(w, "<a href=%s>x</a> ", f)
			}
		case files[name] == "":
			http.NotFound(w, r)
		case r.Header.Get("If-None-Match") != "":
			w.Header().Set("ETag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		default:
			plain++
			w.Header().Set("Content-Type", files[name])
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("ETag", `"1"`)
			w.Write(packed)
		}
	}))
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolite.allow_private = true\n", srv.URL+"/"))
	m.Set("polite.connections", "1")
	m.Durable = true // heads are kept
	s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Fetcher = unpacking{o.Fetcher, text} })
	if err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, s, mirror.Complete, true)
	if m.Tree()["Packages.gz"] != text {
		t.Fatalf("%q", m.Paths())
	}
	plain = 0
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for name := range files {
		if got := m.Tree()[name]; got != string(packed) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if plain != len(files) {
		t.Errorf("%d requests without conditions", plain)
	}
	plain = 0
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if plain > 2 { // audits of validators
		t.Errorf("%d requests without conditions again", plain)
	}
}
