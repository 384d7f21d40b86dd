// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// sessionSite serves nine pages whose links get a token that is new in each answer.
func sessionSite(w *mirrortest.Web, link func(page, token string) string, page func(r *http.Request) string) {
	var n atomic.Int64
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		at := page(r)
		if len(at) > 3 {
			http.NotFound(rw, r)
			return
		}
		token := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, n.Add(1))))[:32]
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title><p>%s", at, mirrortest.Words(uint32(at[len(at)-1]), 40))
		for i := range 9 {
			fmt.Fprintf(rw, "<a href=%q>%d</a> ", link(fmt.Sprintf("/p%d", i), token), i)
		}
	}})
}

// A new session id in each answer does not make new pages, wherever it stands.
func TestSessionIDsAreLearned(t *testing.T) {
	for name, c := range map[string]struct {
		link func(page, token string) string
		page func(r *http.Request) string
	}{
		"query": {
			func(page, token string) string { return page + "?visit=" + token },
			func(r *http.Request) string { return r.URL.Path },
		},
		"path parameter": {
			func(page, token string) string { return page + ";visit=" + token },
			func(r *http.Request) string { page, _, _ := strings.Cut(r.URL.Path, ";"); return page },
		},
		"segment": {
			func(page, token string) string { return "/s/" + token + page },
			func(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			sessionSite(w, c.link, c.page)
			m := mirrortest.New(t, w, job())
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantText(t, s, "each answer has a new session id in its links", "scope.learn_sessions = false")
			if (s.Files != 10) || (s.Requests > 500) {
				t.Errorf("%d requests for %d files", s.Requests, s.Files)
			}
			for range 2 {
				if s = m.Run(); (s.Verdict != mirror.Complete) || (s.Files != 10) || (s.Requests > 20) {
					t.Errorf("%d requests:\n%s", s.Requests, mirrortest.Text(s))
				}
			}
			explains(t, m, home+c.link("/p1", strings.Repeat("a1b2", 8)), "stands for it")
		})
	}
}

// A random part that names a document never counts as a session id, also when the documents say the
// same.
func TestDocumentsAreNoSessions(t *testing.T) {
	const most = 60
	id := func(i int) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "d", i)))[:32] }
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Start", fmt.Sprintf("<a href=/view/%s>first</a>", id(0))))
	for i := range most {
		w.Set(home+"/view/"+id(i), mirrortest.HTML("View",
			fmt.Sprintf("<img src=/img/%s.jpg><a href=/view/%s>next</a>", id(i), id(i+1))))
		w.Set(home+"/img/"+id(i)+".jpg", mirrortest.Page{Body: "\xff\xd8\xff" + id(i)})
	}
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files != 2*most+1 {
		t.Errorf("%d files:\n%s", s.Files, mirrortest.Text(s))
	}
}

// A link to a page that is not mirrored keeps no session id, in any spelling: a new one in each answer made a
// version each run.
func TestSessionIDsOfPagesThatAreNotMirrored(t *testing.T) {
	w := mirrortest.Start(t)
	sessionSite(w, func(page, token string) string {
		switch page {
		case "/p7":
			page = "/run.cgi"
		case "/p8":
			page = home + "/run.cgi"
		}
		return page + "?PHPSESSID=" + token
	}, func(r *http.Request) string { return r.URL.Path })
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if s := m.Run(); s.Changed != 0 || s.Published {
		t.Error(mirrortest.Text(s))
	}
	for path, text := range m.Tree() {
		if strings.HasSuffix(path, ".html") && strings.Contains(text, "PHPSESSID") {
			t.Errorf("%s has a session id: %s", path, text)
		}
	}
}
