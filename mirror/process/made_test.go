// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/internal/volatile"
)

func TestAnswersThatProgramsMade(t *testing.T) {
	const at, later = "Sat, 28 Nov 2026 10:00:00 GMT", "Sat, 28 Nov 2026 10:00:01 GMT"
	const tomorrow = "Sun, 29 Nov 2026 10:00:00 GMT"
	for name, c := range map[string]struct {
		h    fetch.Head
		want bool
	}{
		"a file":            {fetch.Head{ETag: `"1"`, LastModified: "x"}, false},
		"a hash of a file":  {fetch.Head{ETag: `"1"`}, false},
		"a packed file":     {fetch.Head{ETag: `W/"1"`, LastModified: "x"}, false},
		"no validators":     {fetch.Head{}, true},
		"a hash of a page":  {fetch.Head{ETag: `W/"1"`}, true},
		"a cookie":          {fetch.Head{ETag: `"1"`, Header: http.Header{"Set-Cookie": {"a=b"}}}, true},
		"for one reader":    {fetch.Head{ETag: `"1"`, Header: http.Header{"Cache-Control": {"private"}}}, true},
		"never to be kept":  {fetch.Head{ETag: `"1"`, Header: http.Header{"Cache-Control": {"no-store"}}}, true},
		"a page of now":     {fetch.Head{LastModified: at, Header: http.Header{"Date": {later}}}, true},
		"a file of now":     {fetch.Head{ETag: `"1"`, LastModified: at, Header: http.Header{"Date": {at}}}, false},
		"an old file":       {fetch.Head{LastModified: at, Header: http.Header{"Date": {tomorrow}}}, false},
		"to be kept for ms": {fetch.Head{ETag: `"1"`, Header: http.Header{"Cache-Control": {"max-age=0"}}}, false},
	} {
		if got := isMade(&c.h); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnpacked(t *testing.T) {
	packed := func(body []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.ModTime = time.Now()
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	text := []byte("a text")
	bomb := packed(make([]byte, volatile.MaxBody+1))
	cut := packed(text)[:20]
	for name, c := range map[string][2][]byte{
		"packed": {packed(text), text},
		"plain":  {text, text},
		"cut":    {cut, cut},
		"bomb":   {bomb, bomb},
	} {
		if got := unpacked(c[0]); !bytes.Equal(got, c[1]) {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(c[1]))
		}
	}
}
