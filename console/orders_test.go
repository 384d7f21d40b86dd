// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mirrord/app/orders"
	"mirrord/testing/orderstest"
)

const evilMarkup = `<img src=x onerror=alert(1)>`

// orderSite is the address of a site of four pages.
func orderSite(t testing.TB) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/docs/%d.html", &n); err != nil && r.URL.Path != "/docs/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!DOCTYPE html><title>%s</title><p>Page %d of it.", evilMarkup, n)
		if n < 3 {
			fmt.Fprintf(w, `<a href="%d.html">next</a>`, n+1)
		}
	}))
	t.Cleanup(site.Close)
	return site.Listener.Addr().String()
}

// orderFrom makes orders of that site, and works on them until the test ends.
func orderFrom(t testing.TB) *orders.Orders {
	t.Helper()
	return orderstest.From(t, orderSite(t))
}

func orderOf(address string) url.Values {
	return url.Values{
		"url":   {address},
		"scope": {"directory"},
		"files": {"100"},
		"size":  {"1"},
		"delay": {"0"},
		"form":  {"phm"},
	}
}

// An order is previewed, placed, watched and downloaded; only its user and operators see it.
func TestOrders(t *testing.T) {
	all := orderFrom(t)
	b := newBrowser(t, func(o *Options) { o.Orders = all })
	b.login(Read)
	b.want(http.StatusForbidden, "your role", "/order", nil)
	if strings.Contains(b.want(http.StatusOK, "", "/", nil), "/orders") {
		t.Error("readers see orders")
	}
	b.login(Order)
	b.want(http.StatusOK, "There are none yet", "/orders", nil)
	doc := parse(t, b.want(http.StatusOK, "Preview", "/order?url=https%3A%2F%2Fa.example%2F", nil))
	if got, _ := doc.Find("#url").Attr("value"); got != "https://a.example/" {
		t.Errorf("the form is for %q", got)
	}
	var forms []string
	doc.Find("input[name=form]").Each(func(_ int, i *goquery.Selection) {
		forms = append(forms, i.AttrOr("value", ""))
	})
	if got := strings.Join(forms, " "); got != "phm tar.zst zim wacz" {
		t.Errorf("one may order %s", got)
	}
	if to, _ := doc.Find("a[href^='javascript:']").Attr("href"); !strings.Contains(to, testHost) {
		t.Errorf("the bookmarklet: %q", to)
	}
	bad := orderOf("htp://site.example/docs/")
	b.want(http.StatusUnprocessableEntity, "did you mean https://site.example/docs/", "/order", bad)
	bad = orderOf("http://site.example/docs/")
	bad.Set("files", evilMarkup)
	page := b.want(http.StatusUnprocessableEntity, "is no number", "/order", bad)
	if strings.Contains(page, evilMarkup) {
		t.Error("markup of the form is shown")
	}
	bad.Set("files", "99999999999999999999")
	b.want(http.StatusUnprocessableEntity, "is no number", "/order", bad)
	for field, value := range map[string]string{
		"form": "exe", "scope": "planet", "first": "last", "types": "a b/c/d", "mail": "ann@x\r\nBcc: eve@x",
		"language": "de\nX: y", "start": "2099-01-01T00:00", "fresh": "sometimes", "size": "-1",
	} {
		f := orderOf("http://site.example/docs/")
		f.Set(field, value)
		b.want(http.StatusUnprocessableEntity, `role="alert"`, "/order", f)
	}
	b.want(http.StatusSeeOther, "/orders/1", "/order", orderOf("http://site.example/docs/"))
	orderstest.Until(t, all, orders.OrderID{Number: 1}, orders.Draft)
	b.want(http.StatusOK, "4: these are all", "/orders/1", nil)
	b.want(http.StatusSeeOther, "/orders/1", "/orders/1/place", url.Values{})
	b.want(http.StatusConflict, "its state is now", "/orders/1/place", url.Values{})
	orderstest.Until(t, all, orders.OrderID{Number: 1}, orders.Done)
	doc = parse(t, b.want(http.StatusOK, "can be downloaded until", "/orders/1", nil))
	to, _ := doc.Find("a[download]").Attr("href")
	w := b.do(to, nil)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "PK") ||
		!strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("%s: %d, %v", to, w.Code, w.Header())
	}
	b.want(http.StatusNotFound, "", "/orders/1/files/..%2f..%2fmirror.db", nil)
	b.want(http.StatusNotFound, "", "/orders/99", nil)
	b.want(http.StatusNotFound, "", "/orders/-1", nil)
	b.want(http.StatusForbidden, "your role", "/orders/1/judge", url.Values{"do": {"approve"}})
	b.want(http.StatusSeeOther, "", "/orders/1/keep", url.Values{"fresh": {"@daily"}})
	b.want(http.StatusOK, "An operator decides", "/orders/1", nil)
	for _, seen := range []string{"", "runs", "done"} {
		got := b.do("/orders/1/live?state="+seen, nil).Body.String()
		if !strings.HasSuffix(got, "event: over\ndata:\n\n") {
			t.Errorf("live after it was %s: %q", seen, got)
		}
	}
	// another user does not even learn that it exists
	link, _ := b.srv.LoginLink("http://"+testHost, "eve", Order)
	b.do(strings.TrimPrefix(link, "http://"+testHost), nil)
	for _, path := range []string{"/orders/1", "/orders/1/live", to, "/order?like=1"} {
		b.want(http.StatusNotFound, "no such order", path, nil)
	}
	b.want(http.StatusNotFound, "", "/orders/1/cancel", url.Values{})
	b.want(http.StatusOK, "There are none yet", "/orders", nil)
	b.login(Operate)
	b.want(http.StatusOK, "waits to be kept fresh", "/orders", nil)
	b.want(http.StatusSeeOther, "/orders/1", "/orders/1/judge", url.Values{"do": {"approve"}})
	b.want(http.StatusOK, `href="/jobs/site.example"`, "/orders/1", nil)
}

// A bookmark of another page opens the form although the browser sends no cookie.
func TestFromElsewhere(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.Orders = orderFrom(t) })
	come := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Dest", "document")
	}
	b.change = come
	doc := parse(t, b.want(http.StatusOK, "Continue", "/order?url=http%3A%2F%2Fa.example%2F%22%3E", nil))
	if to, _ := doc.Find("main a").Attr("href"); to != "/order?url=http%3A%2F%2Fa.example%2F%22%3E" {
		t.Errorf("it links to %q", to)
	}
	b.want(http.StatusUnauthorized, "mirrord console", "/order", nil)
}

// Without orders there are no pages of them.
func TestNoOrders(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(Operate)
	b.want(http.StatusNotFound, "no such page", "/order", nil)
	if got, err := io.ReadAll(b.do("/", nil).Body); err != nil || strings.Contains(string(got), "/order") {
		t.Error("the list links to orders")
	}
}
