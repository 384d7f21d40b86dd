// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

// folderSite is a directory of very many small files behind nginx's index. It is a mirror.Fetcher without a
// network, so that a run over all of it takes seconds.
type folderSite struct {
	files int
	newer map[string]time.Time // files that are not of longAgo

	mu    sync.Mutex
	asked map[string]int // by name
}

// body is what a file holds. A few hundred bodies for all files, so that no file system runs out of names for
// one.
func (s *folderSite) body(name string) string {
	if t, ok := s.newer[name]; ok {
		return t.Format("0102")
	}
	return fmt.Sprintf("%04d", len(name)+int(name[len(name)-6])+16*int(name[len(name)-5]))[:4]
}

func (s *folderSite) time(name string) time.Time {
	if t, ok := s.newer[name]; ok {
		return t
	}
	return longAgo
}

func (s *folderSite) index() string {
	var b strings.Builder
	b.WriteString(
		"<html>\r\n<head><title>Index of /pub/</title></head>\r\n<body>\r\n<h1>Index of /pub/</h1><hr><pre><a " +
			"href=\"../\">../</a>\r\n")
	for i := range s.files {
		name := fmt.Sprintf("f%06d.txt", i)
		fmt.Fprintf(&b, "<a href=\"%s\">%s</a>%40s %s %19d\r\n", name, name, "",
			s.time(name).Format("02-Jan-2006 15:04"), 4)
	}
	b.WriteString("</pre><hr></body>\r\n</html>\r\n")
	return b.String()
}

func (s *folderSite) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	name := path.Base(req.URL.Path())
	s.mu.Lock()
	s.asked[name]++
	s.mu.Unlock()
	head := fetch.Head{
		Status:  200,
		MIME:    "text/html",
		Charset: "utf-8",
		Header:  http.Header{},
	}
	var body string
	if strings.HasSuffix(req.URL.Path(), "/") {
		body = s.index()
	} else {
		at := s.time(name).Format(http.TimeFormat)
		head.MIME, head.Charset, head.LastModified, body = "text/plain", "", at, s.body(name)
		head.Header.Set("Last-Modified", at)
		if req.LastModified == at {
			head.Status = http.StatusNotModified
			return &fetch.Result{Head: head, NotModified: true}, nil
		}
	}
	head.Length = int64(len(body))
	res := &fetch.Result{
		Head: head,
		Kept: true,
		Wire: head.Length,
		Body: head.Length,
	}
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = io.WriteString(w, body)
	}
	return res, err
}

// A directory of very many files, 200 000 with MIRRORD_LONG: its listing is read whole, costs one request,
// and stands for all of them.
func TestListingOfManyEntries(t *testing.T) {
	entries := sized(7_000, 200_000)
	s := &folderSite{files: entries, newer: map[string]time.Time{}}
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	db, err := st.OpenSite("folder")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	j := jobfile.Default("http://files.example.org/pub/")
	j.Policy = policy.Full
	j.ObeyRobots, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = false, 16, 0, 0
	j.Limits.MaxLinks, j.Limits.MaxDocument, j.Limits.MinFree = 300_000, 64<<20, 0
	run := func() *mirror.Summary {
		s.asked = map[string]int{}
		var sum *mirror.Summary
		within(t, "a run", func() {
			sum, err = mirror.Run(t.Context(), mirror.Options{
				Confirm: -1,
				Job:     j,
				State:   st,
				Site:    db,
				Fetcher: s,
				Hosts:   new(fetch.Hosts),
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	sum := run()
	wantVerdict(t, sum, mirror.Complete, true)
	if sum.Files != entries+1 {
		t.Fatalf("%d files, want %d and the index", sum.Files, entries)
	}
	s.newer["f006543.txt"] = longAgo.Add(24 * time.Hour)
	sum = run()
	wantVerdict(t, sum, mirror.Complete, true)
	if sum.Changed != 2 || s.asked["f006543.txt"] != 1 {
		t.Errorf("%d files changed, want one and the index", sum.Changed)
	}
	if n := len(s.asked); n > 1+25+1 { // the index, the audits, the file
		t.Errorf("%d requests: %q", n, slices.Sorted(maps.Keys(s.asked)))
	}
	if n := sum.Spared["listing"]; n < int64(entries-26) {
		t.Errorf("%d of %d files were spared", n, entries)
	}
}
