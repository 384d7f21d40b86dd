// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/testing/orderstest"
)

// behind is the other node of a cluster, which has all mirrors.
type behind struct{ door http.Handler }

func (b *behind) MirrorAt(r *http.Request, _ string) (string, error) {
	if access.GuestOf(r) != nil {
		return "", nil
	}
	return "north", nil
}

func (b *behind) To(string) http.RoundTripper { return b }

// RoundTrip implements http.RoundTripper.
func (b *behind) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.door == nil {
		return nil, errors.New("it is off")
	}
	w := httptest.NewRecorder()
	b.door.ServeHTTP(w, r)
	return w.Result(), nil
}

// Calls about a mirror of another node are answered there, for the owner of the token; others are not passed
// on, and a node that does not answer is named.
func TestCallsOfOtherNodes(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	north := new(behind)
	o := c.srv.Options
	o.Others = north
	north.door = access.Door(New(o))
	c.srv = New(o)
	const places = "/v1/jobs/docs/equivalents"
	c.want(http.StatusOK, `"base2":"https://good.test/"`, c.token[access.Operate], "POST", places, `{"at":"https://good.test/"}`)
	c.facts.mu.Lock()
	acts := len(c.facts.audit)
	c.facts.mu.Unlock()
	if e := c.lastAct(); acts != 1 || e.Who != "token:operate" || e.From != c.from || e.Job != "docs" {
		t.Errorf("%d acts, the last one %+v", acts, e)
	}
	c.want(http.StatusForbidden, "role", c.token[access.Read], "POST", places, `{"at":"https://good.test/"}`)
	c.want(http.StatusNotFound, "", c.token[access.Read], "GET", "/v1/jobs/none/versions", "")
	r := httptest.NewRequest(http.MethodGet, access.Below+"/v1/audit", nil)
	r.Header.Set(access.GuestField, "name=ann&role=operate")
	w := httptest.NewRecorder()
	if north.door.ServeHTTP(w, r); w.Code != http.StatusNotFound {
		t.Errorf("the audit log is passed on: %d", w.Code)
	}
	north.door = nil
	c.want(http.StatusBadGateway, `"code":"away","error":"node north has it`, c.token[access.Read], "GET",
		"/v1/jobs/docs/versions", "")
}

// An order that was made on one node is one of all. Its archives come from the node that has run it, and
// where a run stands is asked there; a node that is silent is missed for the archives only.
func TestOrdersOfOtherNodes(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>One</title><p>All of it."))
	}))
	t.Cleanup(site.Close)
	nodes := orderstest.NewCluster(t)
	slow := func(o *orders.Options) { o.Patience = time.Hour } // who made an order runs it
	has := func(node string) *orders.Orders {
		return nodes.Join(t, node, site.Listener.Addr().String(), slow)
	}
	there := has("north")
	north := new(behind)
	o := c.srv.Options
	o.Others, o.Orders = north, there
	c.srv = New(o)
	north.door = access.Door(c.srv)
	mine := c.token[access.Order]
	resp := c.do(mine, "POST", "/v1/orders", `{"url":"http://site.example/","delay":0}`)
	if got := resp.Header.Get("Location"); got != "/v1/orders/1@north" {
		t.Errorf("it is at %q", got)
	}
	key := orders.OrderID{Number: 1, Node: "north"}
	here := has("here")
	o.Orders = here
	c.srv = New(o)
	orderstest.Until(t, here, key, orders.Draft)
	c.want(http.StatusOK, `"number":1,"node":"north"`, mine, "GET", "/v1/orders/1@north", "")
	c.want(http.StatusOK, `"number":1,"node":"north"`, mine, "GET", "/v1/orders", "")
	c.want(http.StatusNotFound, "no such order", mine, "GET", "/v1/orders/1", "")
	c.want(http.StatusNotFound, "no such order", mine, "GET", "/v1/orders/2@north", "") // the node knows none
	c.want(http.StatusForbidden, "role", mine, "POST", "/v1/orders/1@north/judge", `{"approve":true}`)
	c.want(http.StatusOK, `"number":1`, mine, "POST", "/v1/orders/1@north/place", "")
	if e := c.lastAct(); e.What != "place an order" || e.About != "order 1@north" || e.From != c.from {
		t.Errorf("the audit log has %+v", e)
	}
	orderstest.Until(t, here, key, orders.Done)
	orderstest.Until(t, there, key, orders.Done)
	c.want(http.StatusOK, `"lies_on":"north"`, mine, "GET", "/v1/orders/1@north", "")
	const file = "/v1/orders/1@north/files/site.example.phm"
	if body := c.want(http.StatusOK, "", mine, "GET", file, ""); !strings.HasPrefix(body, "PK") {
		t.Errorf("the archive begins with %.20q", body)
	}
	north.door = nil
	c.want(http.StatusOK, `"state":"done"`, mine, "GET", "/v1/orders/1@north", "")
	c.want(http.StatusBadGateway, "node north has it", mine, "GET", file, "")
}
