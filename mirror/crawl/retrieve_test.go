// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/site"
	"mirrord/testing/processtest"
)

// What the site answers becomes the outcome of each URL, and which URLs are requested. Nothing has a server.
func TestRetrieve(t *testing.T) {
	for _, c := range []struct {
		name, keys, forbids string
		site                map[string]string
		requests            string
		want                map[string]site.Outcome
		reason              string // part of that of /a
	}{
		{
			name:     "links are followed, and those of another site are not",
			site:     map[string]string{"/": "200 <a href=a>a</a> <a href=//other.example/>o</a>", "/a": "200 a"},
			requests: "/ /a",
			want:     map[string]site.Outcome{"/": site.Fetched, "/a": site.Fetched},
		},
		{
			name:     "an excluded URL is not requested",
			keys:     "[scope]\nexclude = [\"/a/**\"]\n",
			site:     map[string]string{"/": "200 <a href=a/b>b</a>", "/a/b": "200 b"},
			requests: "/",
			want:     map[string]site.Outcome{"/": site.Fetched},
		},
		{
			name:     "robots.txt forbids a URL",
			forbids:  "Disallow: /a\n",
			site:     map[string]string{"/": "200 <a href=a>a</a>", "/a": "200 a"},
			requests: "/",
			want:     map[string]site.Outcome{"/a": site.Disallowed},
		},
		{
			name:     "a redirect is followed",
			site:     map[string]string{"/": "200 <a href=a>a</a>", "/a": "302 /b", "/b": "200 b"},
			requests: "/ /a /b",
			want:     map[string]site.Outcome{"/a": site.Redirected, "/b": site.Fetched},
		},
		{
			name:     "a circle of redirects is a failure",
			site:     map[string]string{"/": "200 <a href=a>a</a>", "/a": "302 /b", "/b": "302 /a"},
			requests: "/ /a /b",
			want:     map[string]site.Outcome{"/a": site.Failed, "/b": site.Failed},
			reason:   "redirects in a circle",
		},
		{
			name:     "a circle that sets a cookie is requested once more",
			site:     map[string]string{"/": "200 <a href=a>a</a>", "/a": "302 /b", "/b": "302c /a"},
			requests: "/ /a /a /b /b",
			want:     map[string]site.Outcome{"/a": site.Failed, "/b": site.Failed},
			reason:   "redirects in a circle",
		},
		{
			name:     "a page that does not exist is gone at once when no run had it",
			site:     map[string]string{"/": "200 <a href=a>a</a>"},
			requests: "/ /a",
			want:     map[string]site.Outcome{"/a": site.Gone},
		},
	} {
		t.Run(c.name, inBubble(func(t *testing.T) {
			b := bench{processtest.NewRunBench(t, c.keys, c.site)}
			b.Forbids = c.forbids
			_, _, requests := b.run()
			if got := withoutGuesses(requests); got != c.requests {
				t.Errorf("requested %q, want %q", got, c.requests)
			}
			for _, path := range slices.Sorted(maps.Keys(c.want)) {
				if rec := b.Record(path); rec.Outcome != c.want[path] {
					t.Errorf("%s: %v (%s), want %v", path, rec.Outcome, rec.Reason, c.want[path])
				}
			}
			if c.reason != "" && !strings.Contains(b.Record("/a").Reason, c.reason) {
				t.Errorf("reason %q", b.Record("/a").Reason)
			}
		}))
	}
}

// inBubble makes a test one whose waits take no time.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// withoutGuesses leaves out what no document names.
func withoutGuesses(requests string) string {
	list := slices.DeleteFunc(strings.Fields(requests), func(path string) bool {
		return path == "/favicon.ico" || strings.Contains(path, "sitemap")
	})
	return strings.Join(list, " ")
}

// The next run compares with what the one before stored: an unchanged page is not a new one, and of a page
// that is gone the first answer is doubted.
func TestRetrieveAgain(t *testing.T) { synctest.Test(t, retrieveAgain) }

func retrieveAgain(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", map[string]string{
		"/":  "200 <a href=a>a</a> <a href=b>b</a>",
		"/a": "200 a",
		"/b": "200 b",
	})}
	b.run()
	time.Sleep(24 * time.Hour)
	delete(b.Answers, home+"/b")
	b.Answer("/a", "200 another text")
	r, f, _ := b.run()
	for path, want := range map[string]site.Outcome{
		"/": site.Unchanged, "/a": site.Fetched, "/b": site.Gone,
	} {
		if rec := b.Record(path); rec.Outcome != want {
			t.Errorf("%s: %v (%s), want %v", path, rec.Outcome, rec.Reason, want)
		}
	}
	if f.HasPlan || len(f.Down) > 0 || len(f.Postponed) > 0 {
		t.Errorf("%+v", f)
	}
	if r.stopped() {
		t.Error("the run was told to end")
	}
}

// A redirect whose target changes places with it is no circle.
func TestRedirectTurnsAround(t *testing.T) { synctest.Test(t, turnsAround) }

func turnsAround(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", map[string]string{
		"/":  "200 <a href=a>a</a> <a href=b>b</a>",
		"/a": "302 /b",
		"/b": "200 b",
	})}
	b.run()
	b.Answer("/a", "200 a")
	b.Answer("/b", "302 /a")
	b.run()
	for path, want := range map[string]site.Outcome{"/a": site.Fetched, "/b": site.Redirected} {
		if rec := b.Record(path); rec.Outcome != want {
			t.Errorf("%s: %v (%s), want %v", path, rec.Outcome, rec.Reason, want)
		}
	}
}

// An endless chain that a run found is kept for the next one under the same rules only.
func TestChainsAreKept(t *testing.T) { synctest.Test(t, chainsAreKept) }

func chainsAreKept(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", nil)}
	own := b.begin().Fingerprint
	for rules, kept := range map[string]bool{own: true, "others": false} {
		stored := storedTraps{Rules: rules, Patterns: map[string][]byte{home + "/a/": make([]byte, 8)}}
		v, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Store.Notes.SetFact(trapsFact, v); err != nil {
			t.Fatal(err)
		}
		p, err := b.loaded().plan()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.keepChains(); err != nil {
			t.Fatal(err)
		}
		if v, err = b.Store.Notes.Fact(trapsFact); (err != nil) || (len(v) > 0) != kept {
			t.Errorf("of rules %q: %q, %v", rules, v, err)
		}
	}
}

// A retrieval without requests has what the records have.
func TestLoad(t *testing.T) { synctest.Test(t, loadOnly) }

func loadOnly(t *testing.T) {
	b := bench{processtest.NewRunBench(t, "", map[string]string{"/": "200 <a href=a>a</a>", "/a": "200 a"})}
	b.run()
	r := b.begin()
	f, err := r.Load()
	if err != nil || f.Ended != nil || f.HasPlan {
		t.Errorf("%+v, %v", f, err)
	}
	if id, ok := r.Table.Find([]byte(home + "/a")); !ok || !r.Table.InSet(id) {
		t.Error("a stored page is not in the table")
	}
	if got := b.Requests(); len(got) > 0 {
		t.Errorf("requested %q", got)
	}
}
