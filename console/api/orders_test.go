// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/testing/orderstest"
)

// Texts are found, with the words and bounds of the call.
func TestFind(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	read := c.token[access.Read]
	got := c.want(200, `"hit":true`, read, "GET",
		"/v1/find?q=one+two&job=docs&at=3&under=docs.example%2Fa&each&limit=5&skip=7", "")
	const asked = "{Words:one two Job:docs At:3 Under:docs.example/a Each:true Limit:5 Skip:7 Only:[]}"
	if !strings.Contains(got, asked) {
		t.Errorf("asked for %s", got)
	}
	c.want(400, "no words", read, "GET", "/v1/find?q=", "")
	c.want(409, "mirrord find", read, "GET", "/v1/find?q=early", "")
	for _, wrong := range []string{"limit=-1", "limit=x", "skip=1001", "skip=1e3"} {
		c.want(400, "is a number", read, "GET", "/v1/find?q=a&"+wrong, "")
	}
}

// An order is previewed, placed, watched and downloaded; only its token and operators see it.
func TestOrders(t *testing.T) {
	now := time.Now()
	c := newClient(t, func() time.Time { return now })
	c.spec = loadSpec(t)
	c.want(404, "no such call", c.token[access.Order], "GET", "/v1/orders", "") // without orders
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!DOCTYPE html><title>One page</title><p>It is all there is.")
	}))
	t.Cleanup(site.Close)
	o := c.srv.Options
	o.Orders = orderstest.From(t, site.Listener.Addr().String())
	c.srv = New(o)
	mine, operate := c.token[access.Order], c.token[access.Operate]
	c.want(200, `{"orders":[]}`, mine, "GET", "/v1/orders", "")
	for body, want := range map[string]string{
		`{"url":"htp://site.example/"}`:                           "did you mean https://site.example/",
		`{"url":"http://10.0.0.7/"}`:                              "private network",
		`{"url":"http://site.example/","forms":["exe"]}`:          "there is no form",
		`{"url":"http://site.example/","delay":-5}`:               "no gap of less",
		`{"url":"http://site.example/","files":-1}`:               "at least 1",
		`{"url":"http://site.example/","command":"rm"}`:           "unknown field",
		`{"url":"http://site.example/","mail":"a@x\r\nBcc: b@x"}`: "mail: ",
		`[]`: "invalid",
	} {
		c.want(400, want, mine, "POST", "/v1/orders", body)
	}
	got := c.want(201, `"state":"looking"`, mine, "POST", "/v1/orders", `{"url":"http://site.example/","delay":0}`)
	var x order
	if err := json.Unmarshal([]byte(got), &x); err != nil || x.Number != 1 || x.By != "token:order" ||
		x.Want.Scope != "directory" || x.Want.Files != orders.DefaultLimits().Files || x.Want.Delay != 0 {
		t.Errorf("%+v, %v", x, err)
	}
	orderstest.Until(t, o.Orders, orders.OrderID{Number: 1}, orders.Draft)
	c.want(200, `"whole":true`, mine, "GET", "/v1/orders/1", "")
	c.want(200, `"number":1`, mine, "POST", "/v1/orders/1/place", `{"ask":false}`)
	if a := c.lastAct(); a.Who != "token:order" || a.What != "place an order" || a.About != "order 1" {
		t.Errorf("the audit log has %+v", a)
	}
	c.want(409, "conflict", mine, "POST", "/v1/orders/1/place", "")
	orderstest.Until(t, o.Orders, orders.OrderID{Number: 1}, orders.Done)
	c.want(200, `"verdict":"complete"`, mine, "GET", "/v1/orders/1", "")
	const file = "/v1/orders/1/files/site.example.phm"
	if body := c.want(200, "", mine, "GET", file, ""); !strings.HasPrefix(body, "PK") {
		t.Errorf("the archive begins with %.20q", body)
	}
	c.want(404, "no such order", mine, "GET", "/v1/orders/1/files/..%2f..%2fmirror.db", "")
	c.want(409, "conflict", mine, "POST", "/v1/orders/1/cancel", "")

	// a second one is more than the user may have, and waits for an operator
	body := `{"url":"http://site.example/","delay":0,"files":5000}`
	c.want(201, `"number":2`, mine, "POST", "/v1/orders", body)
	orderstest.Until(t, o.Orders, orders.OrderID{Number: 2}, orders.Draft)
	c.want(400, "an operator can allow more", mine, "POST", "/v1/orders/2/place", "")
	c.want(200, `"state":"asks"`, mine, "POST", "/v1/orders/2/place", `{"ask":true}`)
	c.want(403, "forbidden", mine, "POST", "/v1/orders/2/judge", `{"approve":true}`)
	c.want(200, `"state":"refused","why":"no"`, operate, "POST", "/v1/orders/2/judge", `{"why":"no"}`)
	c.want(201, `"number":3`, mine, "POST", "/v1/orders", body)
	orderstest.Until(t, o.Orders, orders.OrderID{Number: 3}, orders.Draft)
	c.want(200, `"state":"cancelled"`, mine, "POST", "/v1/orders/3/cancel", "")

	c.want(200, `"next":2`, mine, "GET", "/v1/orders?limit=2", "")
	if got := c.want(200, `"number":1`, mine, "GET", "/v1/orders?limit=2&before=2", ""); strings.Contains(got, "next") {
		t.Errorf("the last page names another one: %s", got)
	}
	c.want(400, "before is a number", mine, "GET", "/v1/orders?before=x", "")
	c.want(200, `"number":3`, operate, "GET", "/v1/orders", "")

	// another token does not even learn that it is there
	eve, fact := access.NewToken(access.Order, now, time.Time{})
	c.facts.tokens["eve"] = fact
	now = now.Add(time.Minute) // tokens are read again
	for _, path := range []string{"/v1/orders/1", file, "/v1/orders/99", "/v1/orders/-1"} {
		c.want(404, "no such order", eve, "GET", path, "")
	}
	c.want(404, "no such order", eve, "POST", "/v1/orders/1/cancel", "")
	c.want(200, `{"orders":[]}`, eve, "GET", "/v1/orders", "")
}
