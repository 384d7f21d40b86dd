// SPDX-License-Identifier: Apache-2.0

package takedown

import (
	"errors"
	"fmt"
	"testing"

	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// siteOf is a site that knows some resources, of which nothing is published.
func siteOf(t *testing.T, known ...record.Resource) *store.Site {
	t.Helper()
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	var news []record.NewURL
	var done []*record.Done
	for i := range known {
		known[i].ID = uint32(i)
		news = append(news, record.NewURL{URL: known[i].URL.String()})
		done = append(done, &record.Done{Resource: known[i]})
	}
	if err := errors.Join(s.Records.Commit(0, news, done), FoldJournal(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// stored is a resource of the mirror with a body that other sites may have too.
func stored(url, mime string, body byte) record.Resource {
	return record.Resource{
		URL:     site.Canonical(url),
		MIME:    mime,
		InSet:   true,
		Outcome: site.Fetched,
		Body:    record.BlobBody,
		Digest:  [32]byte{body},
		Fetched: 1,
	}
}

// URLs to be taken down are found with those that share their file or body, and nothing is changed by that.
func TestFind(t *testing.T) {
	stub := record.Resource{URL: site.Canonical("http://h/old/none"), Outcome: site.OutOfScope}
	s := siteOf(t,
		stored("http://h/old/a.png", "image/png", 1),
		stored("http://h/old/b.png", "image/png", 2),
		stored("http://h/copy.png", "image/png", 1),
		stored("http://h/other.png", "image/png", 3),
		stub,
		stored("http://h/dir/", "text/html", 4),
		stored("http://h/dir/index.html", "text/html", 5),
		stored("http://h/twin/", "text/html", 6),
	)
	for what, c := range map[string]struct {
		glob                 bool
		urls, shared, bodies string
		twin                 string
	}{
		"http://h/old/**": {true, "[http://h/old/a.png http://h/old/b.png]", "[http://h/copy.png]",
			"2", ""},
		"http://h/other.png": {false, "[http://h/other.png]", "[]", "1", ""},
		"http://h/copy.png":  {false, "[http://h/copy.png]", "[http://h/old/a.png]", "1", ""},
		"http://h/nothing":   {false, "[]", "[]", "0", ""},
		"http://h/dir/": {false, "[http://h/dir/ http://h/dir/index.html]", "[]", "2",
			"http://h/dir/index.html"},
		"http://h/dir/index.html": {false, "[http://h/dir/ http://h/dir/index.html]", "[]", "2", "http://h/dir/"},
		"http://h/dir/**":         {true, "[http://h/dir/ http://h/dir/index.html]", "[]", "2", ""},
		"http://h/twin/":          {false, "[http://h/twin/]", "[]", "1", "http://h/twin/index.html"},
	} {
		f, err := Find(s, scope.TakeDown{What: what, Glob: c.glob})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(f.URLs); got != c.urls {
			t.Errorf("%s: %s", what, got)
		}
		twin := ""
		for _, d := range f.Twins {
			twin += d.What
		}
		if twin != c.twin {
			t.Errorf("%s: twins %q, want %q", what, twin, c.twin)
		}
		if got := fmt.Sprint(f.Shared); got != c.shared {
			t.Errorf("%s shares its body with %s", what, got)
		}
		if got := fmt.Sprint(len(f.Bodies)); got != c.bodies || f.Versions != 0 || f.Entry != "" {
			t.Errorf("%s: %s bodies, %+v", what, got, f)
		}
	}
	if _, err := Find(s, scope.TakeDown{What: "no URL"}); err == nil {
		t.Error("a text that is no URL is looked for")
	}
	if v, err := s.Notes.Fact(scope.TakeDownsFact); v != nil || err != nil {
		t.Errorf("looking has noted %s, %v", v, err)
	}
}

// A take-down is a fact of the site before anything is erased, and until the shared bodies were collected.
// A URL that is allowed again makes the next run look at everything.
func TestFactComesFirst(t *testing.T) {
	s := siteOf(t, stored("http://h/a.png", "image/png", 1), stored("http://h/b.png", "image/png", 2))
	left := func() scope.TakeDownWork {
		t.Helper()
		down, err := scope.TakeDownsOf(s.Notes)
		if err != nil {
			t.Fatal(err)
		}
		return down.Left
	}
	if err := SharedDone(s); err != nil || left() != scope.NothingLeft {
		t.Errorf("without a take-down: %v, %q", err, left())
	}
	for _, what := range []string{"http://h/a.png", "http://h/b.png", "http://h/a.png"} {
		if err := Begin(s, scope.TakeDown{What: what, Reason: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	down, err := scope.TakeDownsOf(s.Notes)
	if err != nil || len(down.List) != 2 || down.Left != scope.EraseLeft {
		t.Fatalf("%+v, %v", down, err)
	}
	if err := SharedDone(s); err != nil || left() != scope.EraseLeft {
		t.Errorf("collected before it is erased: %v, %q", err, left())
	}
	if was, err := Allow(s, "http://h/c.png"); was || err != nil {
		t.Errorf("what was never taken down: %v, %v", was, err)
	}
	if full, _ := s.Notes.Fact(revisit.FullFact); full != nil {
		t.Errorf("nothing was allowed, and the next run looks at all: %s", full)
	}
	if was, err := Allow(s, "http://h/a.png"); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	full, err := s.Notes.Fact(revisit.FullFact)
	rules, rerr := s.Notes.Fingerprint()
	if string(full) != revisit.FullAlways || rules != scope.MixedRules || errors.Join(err, rerr) != nil {
		t.Errorf("the next run: %q, %q, %v", full, rules, errors.Join(err, rerr))
	}
	if down, err = scope.TakeDownsOf(s.Notes); err != nil || len(down.List) != 1 || left() != scope.EraseLeft {
		t.Errorf("%+v, %v", down, err)
	}
}
