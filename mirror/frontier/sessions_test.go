// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"encoding/json"
	"fmt"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// tokenURL is a page under the token of an answer.
func tokenURL(page string, answer int) site.URL {
	return site.Canonical(fmt.Sprintf("http://h/%s?visit=%032x", page, 0xabcdef0000+answer))
}

// newTable returns a table that has URLs, all in the mirror.
func newTable(in ...site.URL) *urls.Table {
	t := urls.New()
	t.Settled().Reserve(uint32(len(in)))
	for i, u := range in {
		rec := record.Resource{
			ID:      uint32(i),
			URL:     u,
			InSet:   true,
			Outcome: site.Fetched,
		}
		t.Settled().Load(&rec, urls.Run{Number: 2, Version: 2})
	}
	return t
}

// What the releases stored that proved session ids and parts apart is read as it was.
func TestStoredSessions(t *testing.T) {
	const stored = `{
		"http://h?visit=": {"tokens": 40, "pairs": 20, "twice": "http://h/", "bare": false, "run": 1},
		"http://h?sid=": {"tokens": 40, "pairs": 20, "twice": "http://h/", "bare": true, "run": 1},
		"http://h ?view": {"alike": true, "pair": ["a", "b"], "tokens": 0, "pairs": 8, "twice": "", "bare": false,
			"run": 1}}`
	first, page := tokenURL("p1", 1), site.Canonical("http://h/p2")
	for name, learns := range map[string]bool{"run": true, "import": false} {
		t.Run(name, func(t *testing.T) {
			var learned map[string]*urls.SessionID
			if err := json.Unmarshal([]byte(stored), &learned); err != nil {
				t.Fatal(err)
			}
			s := NewSessionIDs(learned, 2, newTable(first, page, tokenURL("p9", 1)), learns)
			viewed := site.Canonical("http://h/p2?view=a")
			for _, c := range []struct {
				u, want site.URL
				why     string
			}{
				{first, first, ""},
				{tokenURL("p1", 2), first, SameSession},
				{tokenURL("p3", 2), tokenURL("p3", 2), ""},
				{tokenURL("p3", 3), tokenURL("p3", 2), SameSession},
				{site.Canonical("http://h/p1?visit=word"), site.Canonical("http://h/p1?visit=word"), ""},
				{site.Canonical("http://h/p1"), site.Canonical("http://h/p1"), ""},
				{site.Canonical("http://h/p7?sid=0123456789abcdef"), site.Canonical("http://h/p7"), SameSession},
				{viewed, map[bool]site.URL{true: page, false: viewed}[learns], map[bool]string{true: SameParts}[learns]},
			} {
				if got, why := s.Main(c.u); got != c.want || why != c.why {
					t.Errorf("%s: %s, %q, want %s, %q", c.u, got, why, c.want, c.why)
				}
			}
			if got := s.Learned(); len(got) != 3 {
				t.Errorf("stored again: %v", got)
			}
		})
	}
}

// A site that no longer takes the tokens of an earlier run gets new ones.
func TestSessionsThatEnded(t *testing.T) {
	table := newTable(tokenURL("p1", 1), tokenURL("p2", 1))
	s := NewSessionIDs(map[string]*urls.SessionID{"http://h?visit=": {}}, 2, table, true)
	table.Settled().Leave(0)
	if s.Learned()["http://h?visit="] == nil {
		t.Error("half of them are there")
	}
	table.Settled().Leave(1)
	if got := s.Learned(); len(got) != 0 {
		t.Error(got)
	}
}

// The last proof of a session id is a second answer with other tokens in the same links.
func TestLastProofOfSessions(t *testing.T) {
	home := site.Canonical("http://h/")
	links := func(answer, pages int) (out []site.URL) {
		for i := range pages {
			out = append(out, tokenURL(fmt.Sprint("p", i), answer))
		}
		return out
	}
	asked := func(t *testing.T, differs bool) (*SessionIDs, SecondRequest, bool) {
		s := NewSessionIDs(nil, 1, newTable(home), true)
		for answer := range 5 {
			s.Answer(uint32(answer), home, links(answer, 3))
		}
		for answer := range 5 {
			for i, u := range links(answer, 3) {
				body := fmt.Sprintf("<p>what page %c says in some words %d", 'a'+i, answer)
				if differs && answer == 3 {
					body += " and in others"
				}
				s.Read(u, []byte(body), nil, []relocate.Link{{URL: []byte(links(answer+10, 1)[0].String())}})
			}
		}
		q, ok := s.Question("http://h")
		return s, q, ok
	}
	for name, c := range map[string]struct {
		answer, pages int
		want          bool
	}{
		"other tokens":   {20, 3, true},
		"the same ones":  {0, 3, false},
		"a link more":    {20, 4, false},
		"none":           {20, 0, false},
		"those of a doc": {4, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, q, ok := asked(t, false)
			if !ok || q.URL != home {
				t.Fatalf("%v, %t", q, ok)
			}
			again := &Second{URLs: append([]site.URL{}, links(c.answer, c.pages)...)}
			if got := s.Answered(q, again); got != c.want || s.Some() != c.want || len(s.Bare()) > 0 != c.want {
				t.Errorf("learned: %t", got)
			}
			if _, more := s.Question("http://h"); more {
				t.Error("asked again")
			}
		})
	}
	t.Run("not had", func(t *testing.T) {
		s, q, ok := asked(t, false)
		for i := range sessionTries {
			if !ok || s.Answered(q, new(Second)) {
				t.Fatalf("try %d: %t", i, ok)
			}
			q, ok = s.Question("http://h")
		}
		if ok {
			t.Error("asked for ever")
		}
	})
	t.Run("a page differs", func(t *testing.T) {
		if _, q, ok := asked(t, true); ok {
			t.Error(q)
		}
	})
}
