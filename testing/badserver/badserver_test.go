// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

func TestServer(t *testing.T) {
	s := Start(t)
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	s.Alias("/index", "/ok")
	s.Handle("/mine", func(c *Conn, _ *http.Request) bool {
		c.Answer("200 OK", []byte{byte('0' + c.Nth)})
		return true
	})
	for _, tt := range []struct {
		path, body string
		status     int
	}{{"/ok", Page, 200}, {"/index?x", Page, 200}, {"/mine", "1", 200}, {"/mine?again", "2", 200},
		{"/nowhere", "no such page", 404},
		{"/flaky?fail=1", "not now", 503}, {"/flaky?fail=1", Page, 200}} {
		if status, body := get(tt.path); status != tt.status || body != tt.body {
			t.Errorf("%s: %d %q", tt.path, status, body)
		}
	}
	if s.Hits("/mine") != 2 || len(s.Log()) != 7 || len(s.Paths()) < 100 {
		t.Errorf("%d hits, %d requests, %d paths", s.Hits("/mine"), len(s.Log()), len(s.Paths()))
	}
	other := Start(t) // settings of one server do not reach another
	if other.handlers["/mine"] != nil {
		t.Error("servers share their handlers")
	}
}

func TestFileNamesPositions(t *testing.T) {
	b := File()
	if len(b) != 1<<20 || !bytes.Equal(b[0x12340:0x12348], []byte("0012340\n")) {
		t.Errorf("%d bytes, %q", len(b), b[0x12340:0x12348])
	}
}
