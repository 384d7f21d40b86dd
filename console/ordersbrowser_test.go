// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"fmt"
	"testing"

	"mirrord/app/orders"
	"mirrord/testing/orderstest"
)

// fill puts a text into an input.
func (c *chromium) fill(id, text string) {
	c.Helper()
	c.until(fmt.Sprintf(`document.getElementById(%q) != null`, id)) // the page before it may stand still
	const set = `(() => { const i = document.getElementById(%q); i.value = %q; return i.value })()`
	got := c.ask(fmt.Sprintf(set, id, text))
	if got != text {
		c.Fatalf("%s has %q", id, got)
	}
}

// A user orders a mirror in a browser, with and without scripts, by the keyboard, and downloads it; a page
// that is open says by itself when it is ready.
func TestOrderInBrowser(t *testing.T) {
	all := orderFrom(t)
	c := newChromium(t, func(o *Options) { o.Orders = all })
	for i, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/order?url=" + "site.example")
		c.fill("url", "htp://site.example/docs/")
		c.fill("files", fmt.Sprint(50+i)) // another order each time
		c.press("Preview")
		c.wait("did you mean https://site.example/docs/")
		c.fill("url", "http://site.example/docs/")
		c.press("Preview")
		n := uint64(i + 1)
		c.wait(fmt.Sprintf("Request %d", n))
		if !on {
			orderstest.Until(t, all, orders.OrderID{Number: n}, orders.Draft)
			c.goTo(fmt.Sprintf("/orders/%d", n))
		}
		c.wait("4: these are all")
		c.press("Submit")
		if !on { // the user leaves; the order continues
			c.until(`document.body.innerText.includes("Request") && !document.body.innerText.includes("not placed yet")`)
			c.open("about:blank")
			orderstest.Until(t, all, orders.OrderID{Number: n}, orders.Done)
			c.goTo(fmt.Sprintf("/orders/%d", n))
		}
		c.wait("They can be downloaded until")
		c.wait("site.example.phm")
	}
	c.press("Schedule as job")
	c.wait("It is kept fresh as site.example")
	c.goTo("/orders")
	c.wait("http://site.example/docs/")
}
