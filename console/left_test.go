// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/scheduler/status"
)

// A mirror whose job file was removed has pages, and each link of them works.
func TestMirrorWithoutJob(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.login(Operate)
	if err := os.Remove(filepath.Join(a.Jobs, "site.toml")); err != nil {
		t.Fatal(err)
	}
	b.want(http.StatusOK, "delete it…", "/jobs/site", nil)
	b.want(http.StatusNotFound, "no job", "/jobs/nosuch", nil)
	seen := map[string]bool{}
	var todo []string
	for _, page := range []string{"", "gc", "equivalents", "changes", "plan"} {
		todo = append(todo, jobPath("site", page))
	}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] || !strings.HasPrefix(at, "/jobs/") {
			continue
		}
		seen[at] = true
		if strings.Contains(at, "/step?") { // it redirects to the next change
			todo = append(todo, b.want(http.StatusSeeOther, "", at, nil))
			continue
		}
		doc := parse(t, b.want(http.StatusOK, "", at, nil))
		for _, link := range doc.Find("main a[href]").EachIter() {
			to, _ := link.Attr("href")
			todo = append(todo, to)
		}
	}
	if len(seen) < 15 {
		t.Errorf("%d pages were seen: %v", len(seen), seen)
	}
	b.want(http.StatusOK, "This would be deleted", "/jobs/site/remove", nil)
	b.want(http.StatusSeeOther, "/", "/jobs/site/remove", url.Values{"tag": {""}})
	b.want(http.StatusNotFound, "", "/jobs/site", nil)
}

// A job that has not run has an empty feed. One that cannot have a page is listed with the reason, without a
// link.
func TestJobWithoutRun(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.login(Read)
	b.daemon.jobs = []status.Job{
		{Name: "new", Health: status.New},
		{Name: "My Site", Health: status.Invalid, Problems: []string{"cannot name a job"}},
	}
	if feed := b.want(http.StatusOK, "<feed", "/jobs/new/feed.atom", nil); strings.Contains(feed, "<entry>") {
		t.Error(feed)
	}
	b.want(http.StatusNotFound, "", "/jobs/nosuch/feed.atom", nil)
	doc := parse(t, b.want(http.StatusOK, "cannot name a job", "/", nil))
	if n := doc.Find("tbody a").Length(); n != 1 {
		t.Errorf("%d links", n)
	}
}
