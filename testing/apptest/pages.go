// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"mirrord/job"
)

// PagesSite is a site whose answers carry validators. It counts its answers by status, robots.txt apart.
type PagesSite struct {
	*httptest.Server
	mu      sync.Mutex
	Pages   map[string]string // by path; "" is a failure
	Answers map[int]int
}

func NewPagesSite(t *testing.T) *PagesSite {
	s := &PagesSite{
		Answers: map[int]int{},
		Pages: map[string]string{
			"/":          `<title>entry</title><a href="/a.html">a</a> <a href="/b.html">b</a> <img src="/i.png">`,
			"/a.html":    `<title>a</title><p>one`,
			"/b.html":    `<title>b</title><p>one <a href="/later.html">later</a>`,
			"/i.png":     "\x89PNG\r\n\x1a\n picture",
			"/large.bin": strings.Repeat("large", 1000),
		},
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.Answer))
	t.Cleanup(s.Close)
	return s
}

func (s *PagesSite) Answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.Pages[r.URL.Path]
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256([]byte(body))))
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case body == "":
		s.Answers[http.StatusInternalServerError]++
		w.WriteHeader(http.StatusInternalServerError)
		return
	case strings.HasPrefix(body, "http"):
		s.Answers[http.StatusFound]++
		http.Redirect(w, r, body, http.StatusFound)
		return
	case r.Header.Get("If-None-Match") == tag:
		s.Answers[http.StatusNotModified]++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.Answers[http.StatusOK]++
	w.Header().Set("ETag", tag)
	if strings.HasPrefix(body, "<") {
		w.Header().Set("Content-Type", "text/html")
	}
	w.Write([]byte(body))
}

// Set changes pages, two strings each, and forgets what was counted.
func (s *PagesSite) Set(pages ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(pages); i += 2 {
		s.Pages[pages[i]] = pages[i+1]
	}
	clear(s.Answers)
}

func (s *PagesSite) Got(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Answers[status]
}

// GetJob is a job for a get of a server of our own.
func GetJob(url string) *job.Job {
	j := job.Default(url)
	j.Name, j.Polite.Delay, j.Polite.Factor, j.Limits.Retries = "site", 0, 0, 0
	return j
}

func EntriesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
