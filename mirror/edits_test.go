// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// browsed is a code browser of 60 files, with a list of changes.
type browsed struct {
	w       *mirrortest.Web
	at      [60]int // by file: the commit of its last change
	commits []string
}

const ofCgit = `<meta name='generator' content='cgit v1.2.3'>`

func (b *browsed) set() {
	var links strings.Builder
	for i, at := range b.at {
		name := fmt.Sprintf("/r.git/tree/f%d.txt", i)
		fmt.Fprintf(&links, "<a href=%s>f%d</a> ", name, i)
		b.w.Set(home+name, mirrortest.HTML(name, fmt.Sprintf("%s<p>File %d of %s", ofCgit, i,
			strings.Repeat("commit ", at))))
	}
	b.w.Set(home+"/", mirrortest.HTML("r", ofCgit+"<a href=/r.git/log/>log</a> "+links.String()))
	b.w.Set(home+"/r.git/log/", mirrortest.HTML("log", ofCgit+"<p>"+strings.Join(b.commits, "<p>")))
}

// commit changes a file; only a commit that is logged is on the list of changes.
func (b *browsed) commit(file int, logged bool) {
	b.at[file]++
	if logged {
		b.commits = append(b.commits, fmt.Sprintf("Change %d of file %d", len(b.commits), file))
	}
	b.set()
}

// While the list of changes of a program shows none, its pages are not requested but for a few; a list that
// hid a change is believed less.
func TestListOfChanges(t *testing.T) {
	b := &browsed{w: mirrortest.Start(t)}
	b.set()
	m := mirrortest.New(t, b.w, "schedule = \"@weekly\"\npolicy = \"adaptive\"\n"+job()+
		"[adaptive]\nlearn_for = \"\"\n")
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return now }
	week := func() (int, int64) {
		t.Helper()
		b.w.Requests()
		s := m.Run()
		now = now.Add(7 * 24 * time.Hour)
		return len(b.w.Requests()), s.Spared["edits"]
	}
	week()
	for n := range 8 {
		b.commit(7*n%60, true)
		week()
	}
	if n, spared := week(); n > 10 || spared < 40 {
		t.Errorf("a week without a change makes %d requests; %d are spared by the list of changes", n, spared)
	}
	b.commit(3, true)
	week()
	found := func() bool { return strings.Contains(m.Tree()["r.git/tree/f3.txt.html"], "commit commit") }
	b.commit(3, true)
	if week(); !found() {
		t.Errorf("the list shows a change of a file that was not found: %v", m.Paths())
	}
	for range 3 {
		for i := range b.at {
			b.commit(i, false)
		}
		week()
	}
	if n, spared := week(); spared > 0 || n < 10 {
		t.Errorf("a list that hid three changes of all files spares %d requests, %d are made", spared, n)
	}
}

// A wiki has its feed of changes beside the directory of its pages. Entries older than a week leave the feed,
// which says nothing: no page is requested, and no version is published, because of that.
func TestFeedBesideThePages(t *testing.T) {
	w := mirrortest.Start(t)
	const feed = "/api.php?a&action=feedrecentchanges&feedformat=atom"
	const of = `<meta name=generator content="MediaWiki 1.39">` +
		`<link rel=alternate type=application/atom+xml href="` + feed + `">`
	var text [40]string
	set := func(changes ...int) {
		var links, entries strings.Builder
		for i, s := range text {
			name := fmt.Sprintf("/wiki/P%d", i)
			fmt.Fprintf(&links, "<a href=%s>P%d</a> ", name, i)
			w.Set(home+name, mirrortest.HTML(name, of+fmt.Sprintf("<p>Page %d. %s", i, s)))
		}
		for _, n := range changes {
			fmt.Fprintf(&entries, "<entry><title>P%d</title><summary>%s</summary></entry>", n, text[n])
		}
		w.Set(home+"/wiki/", mirrortest.HTML("w", of+links.String()))
		w.Set(home+feed, mirrortest.Page{
			Header: map[string]string{"Content-Type": "application/atom+xml"},
			Body:   `<feed xmlns="http://www.w3.org/2005/Atom"><title>Changes</title>` + entries.String() + `</feed>`,
		})
	}
	set()
	m := mirrortest.New(t, w, "url = \""+home+"/wiki/\"\nschedule = \"@weekly\"\npolicy = \"adaptive\"\n"+
		"[adaptive]\nlearn_for = \"\"\n")
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return now }
	m.Run()
	for n := range 8 {
		text[n] += "Edited. "
		now = now.Add(7 * 24 * time.Hour)
		set(n)
		m.Run()
	}
	if tree := m.ByURL(); !strings.Contains(tree[home+"/wiki/P7"], "Edited") || tree[home+feed] == "" {
		t.Errorf("the mirror has %v", m.Paths())
	}
	w.Requests()
	set() // the entry of the last edit has left
	now = now.Add(7 * 24 * time.Hour)
	s := m.Run()
	if n := len(w.Requests()); n > 10 || s.Spared["edits"] < 25 || s.Published {
		t.Errorf("a week without an edit makes %d requests; %v are spared; published: %v", n, s.Spared, s.Published)
	}
}

// A wiki says in JSON what was edited, beside the directory of its pages. While that names no newer edit, no
// page is requested; what it names is requested first, and what it does not name is audited.
func TestListInJSON(t *testing.T) {
	w := mirrortest.Start(t)
	const api = "/w/api.php?action=query&list=recentchanges&rcprop=title|timestamp|ids&rclimit=100&format=json"
	const of = `<meta name=generator content="MediaWiki 1.39">` +
		`<link rel=EditURI type="application/rsd+xml" href="/w/api.php?action=rsd">`
	var text [40]string
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var changes []string
	calls := 0
	set := func(edited ...int) {
		for _, n := range edited {
			text[n] += "Edited. "
			changes = append([]string{fmt.Sprintf(`{"type":"edit","title":"Page %d","timestamp":%q}`, n,
				now.Add(-time.Hour).Format(time.RFC3339))}, changes...)
		}
		var links strings.Builder
		for i, s := range text {
			name := fmt.Sprintf("/wiki/Page_%d", i)
			fmt.Fprintf(&links, "<a href=%s>P%d</a> ", name, i)
			w.Set(home+name, mirrortest.HTML(name, of+fmt.Sprintf("<p>Page %d. %s", i, s)))
		}
		w.Set(home+"/wiki/", mirrortest.HTML("w", of+links.String()))
		calls++ // each answer is another one
		w.Set(home+api, mirrortest.Page{
			Header: map[string]string{"Content-Type": "application/json"},
			Body: fmt.Sprintf(`{"continue":{"rccontinue":"%d"},"query":{"recentchanges":[%s]}}`, calls,
				strings.Join(changes, ",")),
		})
	}
	set()
	m := mirrortest.New(t, w, "url = \""+home+"/wiki/\"\nschedule = \"@weekly\"\npolicy = \"adaptive\"\n"+
		"[adaptive]\nlearn_for = \"\"\n")
	m.Now = func() time.Time { return now }
	m.Run()
	for n := range 8 {
		now = now.Add(7 * 24 * time.Hour)
		set(n)
		if m.Run(); !strings.Contains(m.Tree()[fmt.Sprintf("wiki/Page_%d.html", n)], "Edited") {
			t.Errorf("week %d: the edit was not found: %v", n, m.Paths())
		}
	}
	for _, of := range []string{"a week without an edit", "a week in which old edits leave the list"} {
		w.Requests()
		set()
		now = now.Add(7 * 24 * time.Hour)
		s := m.Run()
		if n := len(w.Requests()); n > 10 || s.Spared["edits"] < 25 || s.Published {
			t.Errorf("%s makes %d requests; %v are spared; published: %v", of, n, s.Spared, s.Published)
		}
		changes = changes[:len(changes)-3]
	}
}

// Without an API, or where robots.txt forbids it, a wiki is mirrored as if it had none.
func TestListInJSONMissing(t *testing.T) {
	for _, status := range []int{404, 500, 200, 0} {
		w := mirrortest.Start(t)
		const of = `<meta name=generator content="MediaWiki 1.39"><link rel=EditURI href="/w/api.php?action=rsd">`
		w.Set(home+"/", mirrortest.HTML("w", of+"<a href=/wiki/A>A</a>"))
		w.Set(home+"/wiki/A", mirrortest.HTML("A", of+"text"))
		const api = "/w/api.php?action=query&list=recentchanges&rcprop=title|timestamp|ids&rclimit=100&format=json"
		w.Set(home+api, mirrortest.Page{Status: status, Body: "<html><p>Log in"})
		if status == 0 {
			w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /w/\n"})
		}
		m := mirrortest.New(t, w, job())
		for run := range 3 {
			s := m.Run()
			asked := w.Asked()[home+api]
			if s.Verdict != mirror.Complete || len(m.ByURL()) > 3 || m.ByURL()[home+"/wiki/A"] == "" {
				t.Errorf("API answers %d, run %d: %s, %v", status, run+1, mirrortest.Text(s), m.Paths())
			}
			if (run == 0 && (asked > 0) != (status > 0)) || asked > 12 {
				t.Errorf("API answers %d, run %d: it was requested %d times", status, run+1, asked)
			}
		}
	}
}
