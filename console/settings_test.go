// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mirrord/store/shared"
)

// Operators change what users may order; what makes no sense is refused, and others may not.
func TestSettings(t *testing.T) {
	all := orderFrom(t)
	b := newBrowser(t, func(o *Options) { o.Orders = all })
	form := url.Values{"orders": {"5"}, "looks": {"6"}, "files": {"70"}, "size": {"8"}, "requests": {"9"},
		"stored": {"10"}, "days": {"11"}, "delay": {"1.5"}, "approve": {"1"}}
	b.login(Order)
	b.want(http.StatusForbidden, "your role", "/settings", form)
	b.login(Operate)
	b.want(http.StatusSeeOther, "/settings?said=settings", "/settings", form)
	b.want(http.StatusOK, "are in force", "/settings?said=settings", nil)
	if l := all.Limits(); l.Orders != 5 || l.Size != 8e6 || l.Delay.String() != "1.5s" || !l.Approve {
		t.Errorf("%+v", l)
	}
	for field, value := range map[string]string{
		"orders": "-1", "files": "many", "days": "0", "delay": "-1", "size": "9999999999", "stored": evilMarkup,
	} {
		bad := url.Values{}
		for k, v := range form {
			bad[k] = v
		}
		bad.Set(field, value)
		b.want(http.StatusUnprocessableEntity, field+": ", "/settings", bad)
	}
	if l := all.Limits(); l.Orders != 5 || l.Days != 11 {
		t.Errorf("%+v", l)
	}
}

// Operators see who is logged in, and log users out.
func TestUsers(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(Read)
	reader := b.cookie
	b.want(http.StatusForbidden, "your role", "/users", nil)
	b.cookie = nil
	link, _ := b.srv.LoginLink("http://"+testHost, "opal", Operate)
	b.do(strings.TrimPrefix(link, "http://"+testHost), nil)
	rows := parse(t, b.want(http.StatusOK, "", "/users", nil)).Find("tbody tr")
	if rows.Length() != 2 || !strings.Contains(rows.Eq(0).Text(), "annread1") {
		t.Errorf("users: %s", rows.Text())
	}
	b.want(http.StatusSeeOther, "/users?said=logoutUser", "/users/logout", url.Values{"user": {"ann"}})
	rows = parse(t, b.want(http.StatusOK, "logged out", "/users?said=logoutUser", nil)).Find("tbody tr")
	if n := rows.Length(); n != 1 {
		t.Errorf("%d users stay", n)
	}
	b.want(http.StatusOK, "Cho, Shivakumar", "/about", nil)
	b.cookie = reader
	b.want(http.StatusUnauthorized, "", "/", nil)
}

// An operator registers a place that has what a mirror has; one that the test refuses is not taken.
func TestEquivalents(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Name = "site"
	j, err := a.FindJob("site")
	if err != nil {
		t.Fatal(err)
	}
	st, err := a.MustWriteState()
	if err != nil {
		t.Fatal(err)
	}
	for base, copied := range map[string]string{
		j.Base(): "https://copy.test/<site>/", "https://other.test/": "https://other.copy.test/",
	} {
		if err := st.Shared.SavePair(shared.PairRecord{
			Base1:   base,
			Base2:   copied,
			Mirrors: true,
			Level:   "1",
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	b.login(Read)
	b.want(http.StatusForbidden, "your role", "/jobs/site/equivalents", url.Values{"at": {"https://good.test/"}})
	b.login(Operate)
	page := b.want(http.StatusOK, "https://copy.test/&lt;site&gt;/", "/jobs/site/equivalents", nil)
	if strings.Contains(page, "other.copy.test") {
		t.Error("the page has the equivalents of another site")
	}
	b.want(http.StatusNotFound, "", "/jobs/nosuch/equivalents", nil)
	b.want(http.StatusBadRequest, "not registered: mismatch", "/jobs/site/equivalents",
		url.Values{"at": {"https://lies.test/"}})
	b.want(http.StatusSeeOther, "/jobs/site/equivalents", "/jobs/site/equivalents",
		url.Values{"at": {"https://good.test/"}})
	if len(b.daemon.did) != 1 || b.daemon.did[0] != "register site https://good.test/" {
		t.Errorf("the daemon was told %q", b.daemon.did)
	}
}

// A mirror is downloaded in the forms that there are, and its space is freed.
func TestExportAndGC(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Name = "site"
	b.login(Read)
	b.want(http.StatusForbidden, "your role", "/jobs/site/export?format=phm", nil)
	b.login(Operate)
	b.want(http.StatusOK, "Download the published version", "/jobs/site", nil)
	for form, magic := range map[string]string{"phm": "PK", "tar.zst": "\x28\xb5\x2f\xfd", "zim": "ZIM\x04"} {
		w := b.do("/jobs/site/export?format="+form, nil)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), magic) ||
			w.Header().Get("Content-Disposition") != `attachment; filename="site.`+form+`"` {
			t.Errorf("%s: %d, %v", form, w.Code, w.Header())
		}
	}
	b.want(http.StatusBadRequest, "is not one of", "/jobs/site/export?format=dir", nil)
	b.want(http.StatusNotFound, "", "/jobs/site/export?format=phm&version=99", nil)
	b.want(http.StatusOK, "would be freed", "/jobs/site/gc", nil)
	b.want(http.StatusSeeOther, "/jobs/site?said=gc", "/jobs/site/gc", url.Values{})
}

// Sessions are those of the users and roles that there are now.
func TestUsersOfSessions(t *testing.T) {
	b, users, _ := newLocal(t, nil)
	b.want(http.StatusSeeOther, "", "/login", entering("ann", annsPassword))
	b.cookie = nil
	b.login(Operate) // by a link, which ends by itself
	shown := func(want string) {
		t.Helper()
		b.now = b.now.Add(2 * time.Second) // users are known again
		got := ""
		page := parse(t, b.want(http.StatusOK, "", "/users", nil))
		for _, row := range page.Find("table").First().Find("tbody tr").EachIter() {
			got += row.Find("td").Slice(0, 3).Text() + " "
		}
		if got != want {
			t.Errorf("logged in: %q, want %q", got, want)
		}
	}
	shown("annoperate2 ")
	ann := users.users["ann"]
	ann.Role = Read.String()
	users.users["ann"] = ann
	shown("annoperate1 annread1 ")
	delete(users.users, "ann")
	shown("annoperate1 ")
}

// Operators see the users with passwords, and whose first password was never changed.
func TestUsersWithPasswords(t *testing.T) {
	b, users, h := newLocal(t, nil)
	users.set(h, "bob", Order, annsPassword, true, b.now)
	users.set(h, "zoe", Read, annsPassword, true, b.now.Add(-30*24*time.Hour))
	b.login(Operate)
	page := b.want(http.StatusOK, "Users with passwords", "/users", nil)
	rows := parse(t, page).Find("h2#known + .wide tbody tr")
	for i, want := range []string{
		"annoperatechosen", "boborderthe first one, not", "zoereadthe first one, which is too old",
	} {
		if got := rows.Eq(i).Text(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if rows.Length() != 3 || strings.Contains(page, "argon2") {
		t.Errorf("%d users, or a hash is shown", rows.Length())
	}
}
