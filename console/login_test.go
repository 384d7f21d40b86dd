// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/ops"
)

// A link logs in once, within its time, and the session ends by itself, by logging out, and not with the
// daemon.
func TestLogin(t *testing.T) {
	b := newBrowser(t, nil)
	b.want(http.StatusUnauthorized, "mirrord console", "/", nil)
	b.want(http.StatusUnauthorized, "mirrord console", "/login", nil)
	link, _ := b.srv.LoginLink("http://"+testHost, "ann", Operate)
	path := strings.TrimPrefix(link, "http://"+testHost)
	b.change = func(r *http.Request) { r.Method = http.MethodHead }
	b.want(http.StatusOK, "", path, nil)
	b.want(http.StatusSeeOther, "/", path, nil)
	c := b.cookie
	strict := c.HttpOnly && c.SameSite == http.SameSiteStrictMode && c.Path == "/" && c.Domain == ""
	if !strict || len(c.Value) < 64 {
		t.Errorf("the cookie is %+v", c)
	}
	b.want(http.StatusOK, "ann · operate", "/", nil)
	b.want(http.StatusForbidden, "used already", path, nil)
	b.start(nil)
	b.want(http.StatusOK, "ann · operate", "/", nil)
	b.want(http.StatusSeeOther, "/login", "/logout", url.Values{})
	b.cookie = c
	b.want(http.StatusUnauthorized, "mirrord console", "/", nil)

	b.login(Read)
	b.now = b.now.Add(sessionFor + time.Second)
	b.want(http.StatusUnauthorized, "mirrord console", "/", nil)
	link, _ = b.srv.LoginLink("http://"+testHost, "ann", Operate)
	b.now = b.now.Add(linkFor + time.Second)
	b.want(http.StatusForbidden, "too old", strings.TrimPrefix(link, "http://"+testHost), nil)
	b.start(nil)
	if len(b.facts.sessions) != 0 {
		t.Errorf("sessions that have ended are kept: %v", b.facts.sessions)
	}
}

// A link that mirrord open follows from a page on the disk continues by itself.
func TestLoginFromElsewhere(t *testing.T) {
	b := newBrowser(t, nil)
	link, _ := b.srv.LoginLink("http://"+testHost, "ann", Operate)
	b.change = func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Dest", "document")
	}
	const refresh = `http-equiv="refresh" content="0; url=/"`
	b.want(http.StatusOK, refresh, strings.TrimPrefix(link, "http://"+testHost), nil)
	b.want(http.StatusOK, "ann · operate", "/", nil)
}

// A session is never one that the browser sent, and the one before it ends.
func TestSessionFixation(t *testing.T) {
	b := newBrowser(t, nil)
	planted := strings.Repeat("ab", 32)
	b.cookie = &http.Cookie{Name: "mirrord-console-9181", Value: planted}
	b.login(Operate)
	if b.cookie.Value == planted {
		t.Error("the planted session was taken")
	}
	first := b.cookie
	b.login(Read)
	b.cookie = first
	b.want(http.StatusUnauthorized, "", "/", nil)
	b.cookie = &http.Cookie{Name: "mirrord-console-9181", Value: planted}
	b.want(http.StatusUnauthorized, "", "/", nil)
}

// Very many wrong links are refused, fill no log, and keep out no user with a right one; in the long run
// they are 10 000.
func TestLoginAttempts(t *testing.T) {
	b := newBrowser(t, nil)
	slow, all := 0, 1000
	if os.Getenv("MIRRORD_LONG") != "" {
		all = 10_000
	}
	for range all {
		if w := b.do("/login?key="+access.NewSecret(), nil); w.Code == http.StatusTooManyRequests {
			slow++
		} else if w.Code != http.StatusForbidden {
			t.Fatal(w.Code)
		}
	}
	if slow != all-tryBurst || len(b.facts.audit) != tryBurst {
		t.Errorf("%d were slowed down, %d are in the audit log", slow, len(b.facts.audit))
	}
	b.login(Operate)
	b.want(http.StatusOK, "ann · operate", "/", nil)
	for range 3 * mostLinks {
		b.srv.LoginLink("http://"+testHost, "ann", Operate)
	}
	if n := len(b.srv.logins.links); n != mostLinks {
		t.Errorf("%d links wait", n)
	}
}

// The header of a proxy is believed from its address, and only when it came once.
func TestProxyLogin(t *testing.T) {
	b := newBrowser(t, func(o *Options) {
		o.Proxy = Proxy{
			From:   []netip.Prefix{netip.MustParsePrefix("192.0.2.0/28")},
			Header: "Remote-User",
			Roles:  map[string]Role{"eve": Operate, "olga": Order},
		}
		o.Hosts = []string{"mirrors.example"}
	})
	for _, tc := range []struct {
		from, want string
		names      []string
	}{
		{"192.0.2.5:1", "bob · read", []string{"bob"}},
		{"192.0.2.5:1", "eve · operate", []string{"eve"}},
		{"192.0.2.5:1", "olga · order", []string{"olga"}},
		{"[::ffff:192.0.2.5]:1", "bob · read", []string{"bob"}},
		{"192.0.2.16:1", "", []string{"bob"}},
		{"192.0.2.5:1", "", []string{"bob", "eve"}},
		{"192.0.2.5:1", "", []string{""}},
		{"192.0.2.5:1", "", []string{strings.Repeat("x", maxUser+1)}},
		{"192.0.2.5:1", "", nil},
	} {
		b.change = func(r *http.Request) {
			r.RemoteAddr, r.Host = tc.from, "mirrors.example"
			for _, n := range tc.names {
				r.Header.Add("Remote-User", n)
			}
		}
		code := http.StatusOK
		if tc.want == "" {
			code = http.StatusUnauthorized
		}
		b.want(code, tc.want, "/", nil)
	}
	p, err := ParseProxy("10.0.0.5=X-User")
	if err != nil || p.Header != "X-User" || !p.From.Trust("10.0.0.5:9") {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "proxy.example", "10.0.0.5=", "10.0.0.5=a b", "10.0.0.0/40"} {
		if _, err := ParseProxy(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// Users of a proxy have roles; an unnamed one is an operator by no mistake.
func TestProxyRoles(t *testing.T) {
	roles, err := ParseRoles([]string{"ann", "bob=order", "*=order", "eve=read"})
	if err != nil {
		t.Fatal(err)
	}
	p := Proxy{Roles: roles}
	for name, want := range map[string]Role{"ann": Operate, "bob": Order, "zoe": Order, "eve": Read} {
		if who, ok := p.account([]string{name}); !ok || who.Role != want {
			t.Errorf("%s: %+v", name, who)
		}
	}
	for _, bad := range []string{"*", "*=operate", "=order", "ann=root", "ann=noone"} {
		if roles, err := ParseRoles([]string{bad}); err == nil {
			t.Errorf("%q was taken: %v", bad, roles)
		}
	}
}

func TestCheckAddress(t *testing.T) {
	proxy := Proxy{From: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}
	for _, tc := range []struct {
		address string
		proxy   Proxy
		want    bool
	}{
		{"127.0.0.1:0", Proxy{}, true}, {"[::1]:9181", Proxy{}, true}, {"localhost:1", Proxy{}, true},
		{":9181", Proxy{}, false}, {"0.0.0.0:9181", Proxy{}, false}, {"192.0.2.7:9181", Proxy{}, false},
		{"mirrors.example:9181", Proxy{}, false}, {":9181", proxy, true}, {"9181", proxy, false},
	} {
		if tc.address != "9181" && CheckAddress(tc.address, tc.proxy, true) != nil {
			t.Errorf("%s is refused with TLS", tc.address)
		}
		if err := CheckAddress(tc.address, tc.proxy, false); (err == nil) != tc.want {
			t.Errorf("%s, %v: %v", tc.address, tc.proxy.From, err)
		}
	}
}

// Each route needs its role; the routes below are all that there are.
func TestRolesOfRoutes(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	need := map[Role][]string{}
	for _, r := range routes() {
		role := Anonymous
		if r.op != "" {
			role = ops.Named(r.op).Need
		}
		need[role] = append(need[role], r.pattern)
	}
	path := func(pattern string) (string, url.Values) {
		method, p, ok := strings.Cut(pattern, " ")
		p = strings.NewReplacer("{job}", "job0000", "{$}", "", "{n}", "1", "{name}", "x").Replace(p)
		if ok && method == http.MethodPost {
			return p, url.Values{}
		}
		return p, nil
	}
	for _, pattern := range slices.Concat(need[Read], need[Order], need[Operate]) {
		p, form := path(pattern)
		b.want(http.StatusUnauthorized, "", p, form)
	}
	b.login(Order)
	for _, pattern := range need[Operate] {
		p, form := path(pattern)
		b.want(http.StatusForbidden, "your role does not allow that", p, form)
	}
	b.login(Read)
	for _, pattern := range slices.Concat(need[Order], need[Operate]) {
		p, form := path(pattern)
		b.want(http.StatusForbidden, "your role does not allow that", p, form)
	}
	if len(b.daemon.did) > 0 || len(need[Operate]) < 6 || len(need[Anonymous]) != 10 {
		t.Errorf("done: %v; routes: %v", b.daemon.did, need)
	}
	if last := b.facts.audit[len(b.facts.audit)-1]; last.Who != "ann" || last.Error == "" {
		t.Errorf("what was refused is not in the audit log: %+v", last)
	}
}

// Each operation has a page or a button, or the table says why it has none.
func TestOperations(t *testing.T) {
	has := map[string]bool{}
	for _, r := range routes() {
		has[r.op] = true
	}
	for _, o := range ops.Table() {
		if why := o.Lacks(ops.Console); has[o.Name] != (why == "") {
			t.Errorf("%s: offered: %v; why not: %q", o.Name, has[o.Name], why)
		}
	}
}
