// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/orders"
	"mirrord/scheduler/control"
	"mirrord/testing/orderstest"
)

// fakeOthers are what the consoles of a cluster know of one another.
type fakeOthers struct {
	mirrors map[string]string // nodes, by job
	mu      sync.Mutex
	doors   map[string]string // addresses, by node
	passed  []*http.Request
}

// oneOther is what one of them knows.
type oneOther struct {
	*fakeOthers
	me string
}

func (o oneOther) MirrorAt(r *http.Request, job string) (string, error) {
	node := o.mirrors[job]
	switch {
	case node == o.me || node == "":
		return "", nil
	case access.GuestOf(r) != nil:
		return "", fmt.Errorf("it has moved: %w", control.ErrConflict)
	}
	return node, nil
}

func (o oneOther) To(node string) http.RoundTripper { return toOther{o.fakeOthers, node} }

type toOther struct {
	*fakeOthers
	node string
}

func (o toOther) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.passed = append(o.passed, r)
	to := o.doors[o.node]
	o.mu.Unlock()
	if to == "" {
		return nil, errAway
	}
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.URL.Host = to
	return http.DefaultTransport.RoundTrip(r)
}

// joined makes consoles of the nodes a and b.
func joined(t *testing.T, o *fakeOthers, with func(node string, o *Options)) (a, b *browser) {
	t.Helper()
	o.doors = map[string]string{}
	one := func(node string) *browser {
		made := newBrowser(t, func(x *Options) {
			x.Others = oneOther{o, node}
			with(node, x)
		})
		srv := httptest.NewServer(made.srv.Passed())
		t.Cleanup(srv.Close)
		o.doors[node] = srv.Listener.Addr().String()
		return made
	}
	return one("a"), one("b")
}

// Pages and downloads of a mirror on another node come from that node, for each user, with his role.
func TestPagesOfOtherNodes(t *testing.T) {
	has := mirrored(t)
	empty := &env.App{
		State:     func() (string, error) { return t.TempDir(), nil },
		Jobs:      has.Jobs,
		Log:       slog.New(slog.DiscardHandler),
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	o := &fakeOthers{mirrors: map[string]string{"site": "b", "lost": "c"}}
	apps := map[string]*env.App{"a": empty, "b": has}
	a, b := joined(t, o, func(node string, x *Options) { x.App = apps[node] })
	b.login(Operate)
	a.login(Read)
	a.want(http.StatusOK, "ann · read", "/jobs/site/versions", nil)
	a.want(http.StatusOK, "/logout", "/jobs/site/versions", nil)
	a.want(http.StatusOK, "state <ins>2</ins>", "/jobs/site/diff?from=1&to=2&path=docs/1.html", nil)
	a.want(http.StatusOK, testHost+"/jobs/site/versions", "/jobs/site/feed.atom", nil)
	before := len(o.passed)
	a.want(http.StatusForbidden, "your role", "/jobs/site/export?format=phm", nil)
	if len(o.passed) != before {
		t.Error("what a role does not allow is passed on")
	}
	for _, r := range o.passed {
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie goes to another node")
		}
	}
	a.login(Order)
	here, there := b.do("/jobs/site/export?format=phm", nil), a.do("/jobs/site/export?format=phm", nil)
	if there.Code != http.StatusOK || there.Body.Len() == 0 || there.Body.String() != here.Body.String() ||
		there.Header().Get("Content-Disposition") != here.Header().Get("Content-Disposition") {
		t.Errorf("%d, %v, %d bytes; on the other node %d", there.Code, there.Header(), there.Body.Len(),
			here.Body.Len())
	}
	if e := b.facts.acts(1)[0]; e.What != "export" || e.Who != "ann" || e.From != "127.0.0.1:50000" {
		t.Errorf("the audit log has %+v", e)
	}
	a.want(http.StatusNotFound, "", "/jobs/site/export?format=phm&version=99", nil)
	a.login(Operate)
	a.want(http.StatusSeeOther, "/jobs/site/versions?said=rollback", "/jobs/site/rollback",
		url.Values{"to": {"1"}, "current": {"2"}})
	b.want(http.StatusOK, "versions", "/jobs/site/versions", nil)
	if e := b.facts.acts(1)[0]; e.What != "rollback" || e.Error != "" {
		t.Errorf("the audit log has %+v", e)
	}
}

// A node that does not answer, or is older, is named; a request that was passed on is not passed on again;
// and only nodes can name the user for whom they ask.
func TestPassedOnOnce(t *testing.T) {
	o := &fakeOthers{mirrors: map[string]string{"lost": "north", "old": "south", "moves": "b"}}
	a, _ := joined(t, o, func(string, *Options) {})
	older := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(older.Close)
	o.doors["south"] = older.Listener.Addr().String()
	a.login(Operate)
	a.want(http.StatusBadGateway, "node north has it and does not answer", "/jobs/lost/versions", nil)
	a.want(http.StatusBadGateway, "not answer: its program is older", "/jobs/old/versions", nil)
	o.mu.Lock()
	o.doors["b"], o.passed = o.doors["a"], nil // a answers for b: the job has come here and gone back
	o.mu.Unlock()
	a.want(http.StatusConflict, "it has moved", "/jobs/moves/versions", nil)
	if len(o.passed) != 1 {
		t.Errorf("passed on %d times", len(o.passed))
	}
	guest := "name=eve&role=operate&via=session&base=http%3A%2F%2F127.0.0.1"
	for _, path := range []string{"/jobs/moves/versions", access.Below + "/jobs/moves/versions"} {
		a.cookie = nil
		a.change = func(r *http.Request) { r.Header.Set(access.GuestField, guest) }
		if w := a.do(path, nil); w.Code < 400 || strings.Contains(w.Body.String(), "eve") {
			t.Errorf("%s: %d for a client that claims to be a node's guest", path, w.Code)
		}
	}
	for path, code := range map[string]int{
		"/users":               http.StatusNotFound,
		"/jobs/moves/versions": http.StatusConflict,
	} {
		r := httptest.NewRequest(http.MethodGet, access.Below+path, nil)
		r.Header.Set(access.GuestField, guest)
		w := httptest.NewRecorder()
		a.srv.Passed().ServeHTTP(w, r)
		if w.Code != code {
			t.Errorf("%s is passed on: %d, want %d", path, w.Code, code)
		}
	}
}

// An order that was made on one node is one of all: on any of them its user finds it in the list, places it,
// watches it and downloads it; others do not. When the node that has run it is silent, its archives are
// missing, and nothing else.
func TestOrdersOfOtherNodes(t *testing.T) {
	nodes := orderstest.NewCluster(t)
	at := orderSite(t)
	slow := func(o *orders.Options) { o.Patience = time.Hour } // who made an order runs it
	onA, onB := nodes.Join(t, "a", at, slow), nodes.Join(t, "b", at, slow)
	o := new(fakeOthers)
	a, b := joined(t, o, func(node string, x *Options) {
		x.Orders = map[string]*orders.Orders{"a": onA, "b": onB}[node]
	})
	a.login(Order)
	b.login(Order)
	a.want(http.StatusSeeOther, "/orders/1@a", "/order", orderOf("http://site.example/docs/"))
	key := orders.OrderID{Number: 1, Node: "a"}
	orderstest.Until(t, onB, key, orders.Draft)
	b.want(http.StatusOK, `<a href="/orders/1@a">1@a</a>`, "/orders", nil)
	b.want(http.StatusOK, "4: these are all", "/orders/1@a", nil)
	b.want(http.StatusNotFound, "no such order", "/orders/1", nil)
	b.want(http.StatusSeeOther, "/orders/1@a", "/orders/1@a/place", url.Values{})
	orderstest.Until(t, onB, key, orders.Done)
	b.want(http.StatusOK, "event: over", "/orders/1@a/live?state=runs", nil)
	b.want(http.StatusOK, `value="http://site.example/docs/"`, "/order?like=1@a", nil)
	done := b.want(http.StatusOK, "They are on node a.", "/orders/1@a", nil)
	to, _ := parse(t, done).Find("a[download]").Attr("href")
	orderstest.Until(t, onA, key, orders.Done)
	here, there := a.do(to, nil), b.do(to, nil)
	if there.Code != http.StatusOK || !strings.HasPrefix(there.Body.String(), "PK") ||
		there.Body.String() != here.Body.String() {
		t.Errorf("%s: %d, %d bytes; on its node %d", to, there.Code, there.Body.Len(), here.Body.Len())
	}
	b.change = func(r *http.Request) { r.Header.Set("Range", "bytes=1-1") }
	if w := b.do(to, nil); w.Code != http.StatusPartialContent || w.Body.String() != "K" {
		t.Errorf("a part of %s: %d, %q", to, w.Code, w.Body)
	}
	b.want(http.StatusForbidden, "your role", "/orders/1@a/judge", url.Values{"do": {"approve"}})
	b.want(http.StatusSeeOther, "/orders/1@b", "/order", orderOf("http://site.example/docs/"))
	orderstest.Until(t, onA, orders.OrderID{Number: 1, Node: "b"}, orders.Draft)
	page := a.want(http.StatusOK, "1@b", "/orders", nil)
	if !strings.Contains(page, "1@a") {
		t.Error("its own order is missing")
	}
	link, _ := b.srv.LoginLink("http://"+testHost, "eve", Order)
	b.do(strings.TrimPrefix(link, "http://"+testHost), nil)
	for _, path := range []string{"/orders/1@a", "/orders/1@a/live", to, "/order?like=1@a"} {
		b.want(http.StatusNotFound, "no such order", path, nil)
	}
	b.want(http.StatusOK, "There are none yet", "/orders", nil)
	b.login(Order)
	nodes.Over("a")
	o.mu.Lock()
	delete(o.doors, "a")
	o.mu.Unlock()
	b.want(http.StatusOK, "1@a", "/orders", nil)
	b.want(http.StatusOK, "node a, which does not answer now: they can be downloaded when it is back",
		"/orders/1@a", nil)
	b.want(http.StatusBadGateway, "node a has it and does not answer", to, nil)
	b.want(http.StatusBadGateway, "node old has it and does not answer", "/orders/7@old", nil)
}
