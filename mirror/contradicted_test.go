// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A site goes back to an older backup: the pages and their dates are older, and a server that only compares
// dates answers 304. The first full run has the pages of the backup.
func TestOlderBackup(t *testing.T) {
	const pages = 10
	var backup atomic.Bool
	dates := map[bool]time.Time{
		false: time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC),
		true:  time.Date(2026, 10, 1, 10, 0, 0, 0, time.UTC),
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/favicon.ico" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		text := "<title>Page</title><p>the newer edition"
		if backup.Load() {
			text = "<title>Page</title><p>what the backup had"
		}
		if r.URL.Path == "/" {
			for i := range pages {
				text += fmt.Sprintf(" <a href=p%d.html>%d</a>", i, i)
			}
		}
		http.ServeContent(w, r, "", dates[backup.Load()], strings.NewReader(text))
	}))
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolite.allow_private = true\n", srv.URL+"/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Unchanged != pages+1 || s.Wire != 0 {
		t.Error(mirrortest.Text(s))
	}
	backup.Store(true)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != pages+1 {
		t.Error(mirrortest.Text(s))
	}
	for name, text := range m.Tree() {
		if strings.HasSuffix(name, ".html") && !strings.Contains(text, "what the backup had") {
			t.Errorf("%s is %q", name, text)
		}
	}
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Unchanged != pages+1 || s.Wire != 0 {
		t.Error(mirrortest.Text(s))
	}
}

// A server that answers 304 to everything confirms nothing: requests without conditions fail, and
// the copy stays.
func TestNotModifiedWithoutQuestion(t *testing.T) {
	var broken atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/":
			http.NotFound(w, r)
		case broken.Load():
			w.WriteHeader(http.StatusNotModified)
		default:
			fmt.Fprint(w, "<title>Page</title>text")
		}
	}))
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolite.allow_private = true\n", srv.URL+"/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	broken.Store(true)
	s := m.Run()
	if s.Verdict == mirror.Complete || !strings.Contains(mirrortest.Text(s), "no condition was sent") {
		t.Error(mirrortest.Text(s))
	}
	if !strings.Contains(m.Tree()["index.html"], "text") {
		t.Error("the page is gone")
	}
}
