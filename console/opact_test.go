// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"mirrord/app/look"
)

// A job is renamed, URLs are deleted from its mirror and it is deleted after a page has shown what goes: none
// of this when the job file was changed since then.
func TestDeletions(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Name = "site"
	b.login(Order)
	for _, at := range []string{"rename", "forget", "remove"} {
		b.want(http.StatusForbidden, "your role", "/jobs/site/"+at, nil)
		b.want(http.StatusForbidden, "your role", "/jobs/site/"+at, url.Values{})
	}
	b.login(Operate)
	plan := func(at string) url.Values {
		page := b.want(http.StatusOK, "This would be deleted", at, nil)
		tag := regexp.MustCompile(`name="tag" value="([^"]+)"`).FindStringSubmatch(page)
		if tag == nil {
			t.Fatalf("%s has no tag", at)
		}
		return url.Values{"tag": tag[1:]}
	}
	b.want(http.StatusOK, "URL, or pattern", "/jobs/site/forget", nil)
	b.want(http.StatusUnprocessableEntity, "entry point", "/jobs/site/forget?reason=x&what=**", nil)
	form := plan("/jobs/site/forget?reason=x&what=%2Fdocs%2F1.html")
	form.Set("what", "/docs/1.html")
	b.want(http.StatusBadRequest, "reason is missing", "/jobs/site/forget", form)
	form.Set("reason", "x")
	b.want(http.StatusSeeOther, "/jobs/site?said=forget", "/jobs/site/forget", form)
	b.want(http.StatusConflict, "has changed since", "/jobs/site/remove", url.Values{"tag": {"other"}})

	b.want(http.StatusOK, "new name", "/jobs/site/rename", nil)
	b.want(http.StatusBadRequest, "", "/jobs/site/rename", url.Values{"to": {"../x"}})
	b.want(http.StatusSeeOther, "/jobs/other?said=rename", "/jobs/site/rename", url.Values{"to": {"other"}})
	b.want(http.StatusSeeOther, "/?said=removeJob", "/jobs/other/remove", plan("/jobs/other/remove"))
	b.want(http.StatusOK, "Deleted, with", "/?said=removeJob", nil)
	if _, err := look.Versions(a, "other"); err == nil {
		t.Error("the mirror is there still")
	}
	for i, want := range []string{"remove the job", "rename", "rename", "remove the job", "forget", "forget"} {
		if got := b.facts.acts(10)[i].What; got != want {
			t.Errorf("act %d: %s, want %s", i, got, want)
		}
	}
}
