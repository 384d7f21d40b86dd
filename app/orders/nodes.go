// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/status"
)

// Nodes is where other nodes of a cluster ask for the orders of one. Orders stay on the node on which they
// were made.
const Nodes = "/node/orders"

// SaidOrders is the newest orders, as a node says them.
type SaidOrders struct {
	All    int         `json:"all"` // how many there are below the key that was asked for
	Orders []SaidOrder `json:"orders"`
}

// SaidOrder is an order with where it stands on its node.
type SaidOrder struct {
	Order    Ordered          `json:"order"`
	Progress *status.Progress `json:"progress,omitempty"`
	Ahead    int              `json:"ahead,omitempty"`
	Wait     time.Duration    `json:"wait,omitempty"`
}

// InList is an order with its place in the queue.
type InList struct {
	Ordered
	Place QueuePlace
}

// Page is a part of the orders of all nodes, newest first.
type Page struct {
	Orders []InList
	More   int               // older ones
	Next   uint64            // before which the next page begins; 0: this is the last one
	Away   []status.NodeSaid // nodes whose orders are missing, because they do not answer
}

// key orders the orders of all nodes: by numbers, or by the times at which they were made.
func (o *Ordered) key() uint64 {
	if o.Node == "" {
		return o.Number
	}
	return uint64(max(o.At.UnixMicro(), 0))
}

// newest returns the orders that a user may see below a key, about as many as are wanted: no cut is made
// between orders of the same key.
func newest(all []InList, before uint64, most int) (out []InList) {
	slices.SortStableFunc(all, func(a, b InList) int {
		return cmp.Or(cmp.Compare(b.key(), a.key()), strings.Compare(a.Node, b.Node))
	})
	for _, x := range all {
		switch {
		case before > 0 && x.key() >= before:
		case len(out) < most || (len(out) > 0 && x.key() == out[len(out)-1].key()):
			out = append(out, x)
		}
	}
	return out
}

// own are the orders of this node that a user may see.
func own(s *Orders, by User) (out []InList) {
	for _, o := range s.List(by) {
		x := InList{Ordered: o}
		if o.State == Waits {
			x.Place = s.Place(o.Number)
		}
		out = append(out, x)
	}
	return out
}

// Newest returns the newest orders of all nodes that a user may see. before is Next of the page before, or 0.
func Newest(ctx context.Context, s *Orders, by User, before uint64, most int) (p Page) {
	all := own(s, by)
	p.Orders = newest(all, before, most)
	older := count(all, before)
	if s.o.Ask != nil {
		q := url.Values{
			"user":   {by.Name},
			"before": {strconv.FormatUint(before, 10)},
			"most":   {strconv.Itoa(most)},
		}
		if by.Operator {
			q.Set("operator", "1")
		}
		var said map[string]SaidOrders
		said, p.Away = s.o.Ask(ctx, Nodes+"?"+q.Encode())
		for node, l := range said {
			older += l.All
			for _, x := range l.Orders {
				x.Order.Node, x.Order.Progress = node, x.Progress
				p.Orders = append(p.Orders, InList{x.Order, QueuePlace{Ahead: x.Ahead, Wait: x.Wait}})
			}
		}
		p.Orders = newest(p.Orders, before, most)
	}
	if p.More = older - len(p.Orders); p.More > 0 && len(p.Orders) > 0 {
		p.Next = p.Orders[len(p.Orders)-1].key()
	}
	return p
}

// count is how many orders are below a key.
func count(all []InList, before uint64) (n int) {
	for i := range all {
		if before == 0 || all[i].key() < before {
			n++
		}
	}
	return n
}

// Say answers other nodes, which ask with Newest.
func Say(s *Orders) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before, err := strconv.ParseUint(r.FormValue("before"), 10, 64)
		most, merr := strconv.Atoi(r.FormValue("most"))
		if err != nil || merr != nil || most < 0 {
			http.Error(w, "before, most: want numbers", http.StatusBadRequest)
			return
		}
		all := own(s, User{Name: r.FormValue("user"), Operator: r.FormValue("operator") != ""})
		l := SaidOrders{All: count(all, before)}
		for _, x := range newest(all, before, most) {
			l.Orders = append(l.Orders, SaidOrder{
				Order:    x.Ordered,
				Progress: x.Progress,
				Ahead:    x.Place.Ahead,
				Wait:     x.Place.Wait,
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(l) // an error: who asked is gone
	})
}

// Ref is how users name an order: by its number, in a cluster with its node, as 7@north.
func (o Ordered) Ref() string {
	if o.Node == "" {
		return strconv.FormatUint(o.Number, 10)
	}
	return fmt.Sprintf("%d@%s", o.Number, o.Node)
}

// Path is Ref as a part of an address.
func (o Ordered) Path() string { return url.PathEscape(o.Ref()) }

// NodeOf returns the other node that an order is on; "": it is one of this node.
func NodeOf(s *Orders, ref string) string {
	if _, node, _ := strings.Cut(ref, "@"); s.o.Ask != nil && node != s.o.Node {
		return node
	}
	return ""
}
