// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/site"
)

// memory is a Sink that keeps the body.
type memory struct {
	bytes.Buffer
	begun []Head
}

func (m *memory) Begin(h *Head) (io.Writer, error) {
	m.begun = append(m.begun, *h)
	m.Truncate(int(h.Offset))
	return &m.Buffer, nil
}

func mustURL(t testing.TB, s string) site.URL {
	t.Helper()
	u, _, err := site.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDoKeepsABody(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", `Text/HTML; charset="UTF-8"`)
		io.WriteString(w, "hello "+r.RequestURI)
	}))
	defer s.Close()
	c, err := New(Options{Reach: reach.Policy{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, path := range []string{"/", "/a|b?x=%zz", "//double/", "/?"} {
		var m memory
		res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+path)}, &m)
		if err != nil {
			t.Fatal(err)
		}
		want := "hello " + path
		if path == "//double/" {
			want = "hello " + s.URL + path // absolute form
		}
		if m.String() != want || !res.Kept || res.MIME != "text/html" || res.Charset != "utf-8" ||
			res.Length != int64(len(want)) {
			t.Errorf("%s: %q, %+v", path, m.String(), res)
		}
	}
}
