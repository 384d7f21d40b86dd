// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"io"
	"net/http"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/app/runs"
	"mirrord/scheduler/status"
)

// order is one as it is sent.
type order struct {
	orders.OrderStatus
	Want    orders.WishForm `json:"want"`
	Preview *runs.Preview   `json:"preview,omitempty"`
	Ahead   *int            `json:"ahead,omitempty"`   // of one that waits
	Wait    float64         `json:"wait,omitempty"`    // seconds
	LiesOn  string          `json:"lies_on,omitempty"` // the other node of a cluster from which its archives come

	Progress *status.Progress `json:"progress,omitempty"` // of the run under way
}

func (c *call) shown(o orders.Ordered) order { return c.shownAt(o, c.Orders.Place(o.OrderID)) }

// shownAt is an order as it is sent, with its place in the queue.
func (c *call) shownAt(o orders.Ordered, p orders.QueuePlace) order {
	out := order{
		OrderStatus: o.OrderStatus,
		Want:        orders.FormOf(o.Want),
		Preview:     o.Look,
		Progress:    o.Progress,
	}
	out.LiesOn, _ = c.Orders.LiesOn(&o)
	if o.State == orders.Waits {
		out.Ahead, out.Wait = &p.Ahead, p.Wait.Seconds()
	}
	return out
}

func (c *call) user() orders.User {
	return orders.User{Name: c.who, Operator: c.as >= access.Operate, Base: c.base()}
}

// base is where the client reached the API.
func (c *call) base() string {
	if g := access.GuestOf(c.r); g != nil {
		return g.Base
	}
	if c.r.TLS != nil || c.r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https://" + c.r.Host
	}
	return "http://" + c.r.Host
}

// draftOrder has an order looked at. It is placed by another call.
func draftOrder(c *call) error {
	n := orders.FormOf(c.Orders.Suggest(c.user()))
	if err := c.body(&n); err != nil {
		return err
	}
	w := n.Wish()
	c.about = w.String()
	o, err := c.Orders.Draft(c.user(), w)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/orders/"+o.Path())
	c.send(http.StatusCreated, c.shown(o))
	return nil
}

// order is the one of the path, if the caller may see it.
func (c *call) order() (orders.Ordered, error) {
	c.about = "order " + c.r.PathValue("n")
	return c.Orders.Seen(c.user(), c.r.PathValue("n"))
}

// orderList is a page of the list of orders.
type orderList struct {
	Orders []order `json:"orders"`         // newest first
	Next   uint64  `json:"next,omitempty"` // the value of before for the next page
}

// ordersQuery asks for a page of the list of orders.
type ordersQuery struct {
	Limit  int    `json:"limit,omitempty" bounds:"1,1000,100"` // how many
	Before uint64 `json:"before,omitempty"`                    // next of the page before
}

// listOrders lists the caller's orders, or for an operator all.
func listOrders(c *call, q ordersQuery) (any, error) {
	page := orders.Newest(c.Orders, c.user(), q.Before, q.Limit)
	out := orderList{Orders: []order{}, Next: page.Next}
	for _, o := range page.Orders {
		out.Orders = append(out.Orders, c.shownAt(o.Ordered, o.Place))
	}
	return out, nil
}

// ordering answers with an order, after something was done with it.
func ordering(do func(c *call, o orders.Ordered) error) func(c *call) error {
	return func(c *call) error {
		o, err := c.order()
		if err == nil {
			err = do(c, o)
		}
		if err == nil {
			o, err = c.Orders.Get(o.OrderID)
		}
		if err != nil {
			return err
		}
		c.send(http.StatusOK, c.shown(o))
		return nil
	}
}

func showOrder(*call, orders.Ordered) error { return nil }

func cancelOrder(c *call, o orders.Ordered) error { return c.Orders.Cancel(o.OrderID) }

// placing is how an order is placed.
type placing struct {
	Ask bool `json:"ask"` // an operator decides when it is more than the limits allow
}

// placeOrder puts an order into the queue.
func placeOrder(c *call, o orders.Ordered) error {
	var how placing
	if err := c.body(&how); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return c.Orders.PlaceOrder(o.OrderID, c.user(), how.Ask)
}

// judging is the decision about an order.
type judging struct {
	Approve bool   `json:"approve"`
	Why     string `json:"why"` // shown to the user who ordered it
}

// judgeOrder approves an order that waits for an operator, or refuses it.
func judgeOrder(c *call, o orders.Ordered) error {
	var how judging
	if err := c.body(&how); err != nil {
		return err
	}
	return c.Orders.Judge(o.OrderID, c.who, how.Approve, how.Why)
}

// orderFile sends an archive of an order.
func orderFile(c *call) error {
	return c.Orders.SendArchive(c.w, c.r, c.user(), c.r.PathValue("n"), c.r.PathValue("name"))
}
