// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mirrord/access"
	"mirrord/app/orders"
	"mirrord/app/orders/orderstest"
	"mirrord/status"
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
	o := c.srv.o
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

// A call about an order of another node goes there, and a list names the nodes whose orders are missing.
func TestOrdersOfOtherNodes(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	has := func(node string) *orders.Orders {
		return orderstest.From(t, site.Listener.Addr().String(), func(o *orders.Options) {
			o.Node = node
			o.Ask = func(context.Context, string) (map[string]orders.SaidOrders, []status.NodeSaid) {
				return nil, []status.NodeSaid{{Name: "south"}, {Name: "west"}}
			}
		})
	}
	north := new(behind)
	o := c.srv.o
	there := has("north")
	o.Others, o.Orders = north, there
	c.srv = New(o)
	north.door = access.Door(c.srv)
	mine := c.token[access.Order]
	resp := c.do(mine, "POST", "/v1/orders", `{"url":"http://site.example/"}`)
	if got := resp.Header.Get("Location"); got != "/v1/orders/1@north" {
		t.Errorf("it is at %q", got)
	}
	orderstest.Until(t, there, 1, orders.Draft)
	if got := c.do(mine, "GET", "/v1/orders", "").Header.Get("Mirrord-Missing"); got != "south,west" {
		t.Errorf("missing are the orders of %q", got)
	}
	o.Orders = has("here")
	c.srv = New(o)
	c.want(http.StatusOK, `"number":1,"node":"north"`, mine, "GET", "/v1/orders/1@north", "")
	c.want(http.StatusNotFound, "no such order", mine, "GET", "/v1/orders/1", "")
	c.want(http.StatusNotFound, "no such order", mine, "GET", "/v1/orders/2@north", "")
	c.want(http.StatusForbidden, "role", mine, "POST", "/v1/orders/1@north/judge", `{"approve":true}`)
	c.want(http.StatusOK, `"state":"cancelled"`, mine, "POST", "/v1/orders/1@north/cancel", "")
	if e := c.lastAct(); e.What != "cancel an order" || e.About != "order 1@north" || e.From != c.from {
		t.Errorf("the audit log has %+v", e)
	}
	north.door = nil
	c.want(http.StatusBadGateway, "node north has it", mine, "GET", "/v1/orders/1@north", "")
}
