// SPDX-License-Identifier: Apache-2.0

package takedown_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/mirror/scope"
	"mirrord/mirror/takedown"
	"mirrord/testing/processtest"
)

// publish makes a run of a site.
func publish(t *testing.T, b *processtest.RunBench) {
	t.Helper()
	sum, err := mirror.Run(t.Context(), mirror.Options{
		Job:     b.Job,
		State:   b.State,
		Site:    b.Store,
		Fetcher: b.Site,
		Robots:  b.Site,
		Hosts:   new(fetch.Hosts),
		Confirm: -1,
	})
	if err != nil || !sum.Published {
		t.Fatalf("%+v, %v", sum, err)
	}
	time.Sleep(24 * time.Hour)
}

// A take-down says how many of the kept versions have one of its URLs, also of those that the site has no
// longer, and whether the mirror opens with one.
func TestFindInVersions(t *testing.T) { synctest.Test(t, findInVersions) }

func findInVersions(t *testing.T) {
	b := processtest.NewRunBench(t, "limits.max_delete = \"100%\"", map[string]string{
		"/":  "200 <a href=/a>a</a> <a href=/b>b</a>",
		"/a": "200 the first page",
		"/b": "200 the second page",
	})
	publish(t, b)
	b.Answer("/", "200 <a href=/b>b</a>") // the first one leaves
	b.Answer("/b", "200 the second page says more")
	publish(t, b)
	b.Answer("/", "200 <a href=/b>b</a> <a href=/c>c</a>")
	b.Answer("/c", "200 a new page")
	publish(t, b)
	const home = processtest.Home
	for what, want := range map[string]struct {
		urls     string
		versions int
		entry    string
	}{
		home + "/a":       {"/a", 1, ""},
		home + "/b":       {"/b", 3, ""},
		home + "/c":       {"/c", 1, ""},
		home + "/":        {"/", 3, home + "/"},
		home + "/nothing": {"", 0, ""},
		home + "/**":      {"/ /a /b /c", 3, home + "/"},
	} {
		f, err := takedown.Find(b.Store, scope.TakeDown{What: what, Glob: strings.Contains(what, "*")})
		if err != nil {
			t.Fatal(err)
		}
		var urls []string
		for _, u := range f.URLs {
			if u = strings.TrimPrefix(u, home); u != "/favicon.ico" {
				urls = append(urls, u)
			}
		}
		if got := strings.Join(urls, " "); got != want.urls || f.Versions != want.versions ||
			f.Entry != want.entry {
			t.Errorf("%s: %s in %d versions, entry page %q; want %+v", what, got, f.Versions, f.Entry, want)
		}
	}
}
