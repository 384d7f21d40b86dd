// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/serve/find"
)

// fakeTexts has one result, and writes down what it is asked for.
type fakeTexts struct {
	wanted bool
	asked  []search.FindRequest
	err    error
	known  *replicas.KnownReplicas
}

func (f *fakeTexts) Find(_ context.Context, r search.FindRequest) (*search.FoundTexts, error) {
	f.asked = append(f.asked, r)
	if err := find.CheckWords(r.Words); err != nil {
		return nil, &env.Error{Kind: env.Usage, Err: err}
	}
	since := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	out := &search.FoundTexts{Index: find.IndexSizes{Pages: 1695, Mirrors: 2}}
	out.Behind, out.Progress = []string{"late"}, "indexing late: 1000 of 9160 pages"
	if r.Words == "nothing" {
		return out, f.err
	}
	out.Lines, out.Matches = 25, 40
	out.Results = []find.FoundPage{{
		Job:     "samba",
		URL:     "https://a.example/?" + evilMarkup,
		Path:    "a b/index.html",
		Title:   evilMarkup,
		Excerpt: []find.Excerpt{{Text: "about "}, {Text: evilMarkup, Hit: true}},
		First:   3,
		Since:   &since,
		Collection: &find.FoundCollection{At: "a.example/m/", Matches: 2, Replicas: []find.FoundReplica{
			{At: "b.example/" + evilMarkup, Matches: 1},
		}},
	}}
	return out, f.err
}

func (f *fakeTexts) Wanted() bool { return f.wanted }

func (f *fakeTexts) Begin() error {
	f.wanted = true
	return nil
}

func (f *fakeTexts) Replicas() (*replicas.KnownReplicas, error) {
	if f.known == nil {
		return nil, fmt.Errorf("open: %w", fs.ErrNotExist)
	}
	return f.known, nil
}

// The page Find shows results with any content, and links to those of a collection and its replicas.
func TestFindPage(t *testing.T) {
	texts := new(fakeTexts)
	b := newBrowser(t, func(o *Options) { o.Texts = texts })
	b.login(Read)
	b.want(http.StatusOK, "no index of texts yet", "/find", nil)
	b.want(http.StatusForbidden, "your role", "/find", url.Values{"x": {"1"}})
	b.login(Operate)
	b.want(http.StatusOK, "Build index", "/find?q=x", nil)
	b.want(http.StatusSeeOther, "/find?said=index", "/find", url.Values{"x": {"1"}})
	b.want(http.StatusOK, "is being made", "/find?said=index", nil)
	b.login(Read)
	const second = "/find?q=winbind&job=samba&at=3&page=2"
	page := parse(t, b.want(http.StatusOK, "25 results in 40 pages", second, nil))
	if r := texts.asked[0]; r.Words != "winbind" || r.Job != "samba" || r.At != "3" || r.Skip != perFind {
		t.Errorf("%+v", r)
	}
	if page.Find("main script, main img").Length() > 0 || page.Find("main mark").Text() != evilMarkup {
		t.Errorf("markup of a page: %s", page.Find("main").Text())
	}
	if page.Find(`a[rel="next"]`).Length() != 1 || page.Find(`a[rel="prev"]`).Length() != 1 {
		t.Error("no links to the pages beside it")
	}
	if !strings.Contains(page.Text(), "since version 3 (2026-03-02)") || !strings.Contains(page.Text(), "late") {
		t.Errorf("versions: %s", page.Find("main").Text())
	}
	early := parse(t, b.want(http.StatusOK, "Nothing found so far", "/find?q=nothing", nil)).Find("main").Text()
	if strings.Contains(early, "0 results") || !strings.Contains(early,
		"Not searched yet: the latest version of late. Now indexing late: 1000 of 9160 pages.") {
		t.Errorf("before the index is made: %s", early)
	}
	under := page.Find(`section a[href*="under="]`)
	if under.Length() != 2 {
		t.Fatalf("%d links to copies", under.Length())
	}
	b.want(http.StatusOK, "results", under.Eq(1).AttrOr("href", ""), nil)
	if r := texts.asked[len(texts.asked)-1]; r.Under != "b.example/"+evilMarkup || r.Words != "winbind" {
		t.Errorf("under a replica: %+v", r)
	}
	for q, want := range map[string]string{
		"":                           "at least one word",
		"AND OR":                     "only operators",
		strings.Repeat("word ", 2e3): "10000 bytes",
		"a*":                         "at least 3 letters",
	} {
		b.want(http.StatusUnprocessableEntity, want, "/find?q="+url.QueryEscape(q), nil)
	}
	b.want(http.StatusOK, "results", "/find?q=a", nil)
	texts.err = find.ErrDamaged
	b.want(http.StatusServiceUnavailable, "is being made", "/find?q=a", nil)
	texts.err = errors.New("disk")
	b.want(http.StatusInternalServerError, "cannot be shown", "/find?q=a", nil)
}

// knownReplicas are a collection of two copies, a pair of hosts, and a book in one page.
func knownReplicas() *replicas.KnownReplicas {
	known := &replicas.KnownReplicas{Families: make([][]string, 3)}
	known.Clusters = []replicas.ReplicaCollection{{
		Cardinality: 2,
		Size:        12,
		Suggestion:  "use the first",
		Copies: []replicas.ReplicaCopy{
			{At: "a.example/" + evilMarkup, Pages: 12}, {At: "b.example/", Pages: 9, Shared: 8},
		},
	}}
	known.Hosts = []replicas.ReplicaHosts{{
		Host1:      "a.example",
		Host2:      evilMarkup,
		Level:      "2",
		Suggestion: "the same",
	}}
	return known
}

// The page Replicas shows evidence, and the command to run before there is any.
func TestReplicasPage(t *testing.T) {
	texts := new(fakeTexts)
	b := newBrowser(t, func(o *Options) { o.Texts = texts })
	b.login(Read)
	b.want(http.StatusOK, "mirrord replicas", "/replicas", nil)
	texts.known = knownReplicas()
	page := parse(t, b.want(http.StatusOK, "use the first", "/replicas", nil))
	text := page.Find("main").Text()
	const saved = "8 pages that the first one has too"
	for _, want := range []string{saved, "2 smaller ones", "2, not sure", evilMarkup} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if page.Find("main script, main img").Length() > 0 {
		t.Error("markup of a name")
	}
	texts.known.Elsewhere = []replicas.ReplicaNode{{Node: "south", Jobs: 2}}
	page = parse(t, b.want(http.StatusOK, "UTC</time>, on this node: ", "/replicas", nil))
	if text := page.Find("main").Text(); !strings.Contains(text, "node south: 2 mirrors") {
		t.Error(text)
	}
	texts.known.Node = "north"
	b.want(http.StatusOK, "UTC</time>, on node north: ", "/replicas", nil)
	b = newBrowser(t, nil)
	b.login(Read)
	b.want(http.StatusNotFound, "no such page", "/find", nil)
}
