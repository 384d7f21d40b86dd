// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mirrord/app/access"
)

// InList is an order with its place in the queue.
type InList struct {
	Ordered
	Place QueuePlace
}

// Page is a part of the orders, newest first.
type Page struct {
	Orders []InList
	More   int    // older ones
	Next   uint64 // before which the next page begins; 0: this is the last one
}

// moment orders the orders of all nodes: by numbers, or by the times at which they were made.
func (o *Ordered) moment() uint64 {
	if o.Node == "" {
		return o.Number
	}
	return uint64(max(o.At.UnixMicro(), 0))
}

// Newest returns the newest orders that a user may see, about as many as are wanted: no cut is made between
// orders of the same moment. before is Next of the page before, or 0.
func Newest(s *Orders, by User, before uint64, most int) (p Page) {
	all := s.List(by)
	slices.SortStableFunc(all, func(a, b Ordered) int {
		return cmp.Or(cmp.Compare(b.moment(), a.moment()), strings.Compare(a.Node, b.Node))
	})
	for _, o := range all {
		last := len(p.Orders) - 1
		switch {
		case before > 0 && o.moment() >= before:
		case len(p.Orders) < most || (last >= 0 && o.moment() == p.Orders[last].moment()):
			x := InList{Ordered: o}
			if o.State == Waits {
				x.Place = s.Place(o.OrderID)
			}
			p.Orders = append(p.Orders, x)
		default:
			p.More++
		}
	}
	if p.More > 0 && len(p.Orders) > 0 {
		p.Next = p.Orders[len(p.Orders)-1].moment()
	}
	return p
}

// Question is the purpose of a request about an order.
type Question int

// The questions. Details of an order that are not known here may be known to the node of its name: a node
// of an older version does not share its orders.
const (
	ToAct   Question = iota // any node that knows the order can
	ToShow                  // where a run stands is known to the node that makes it
	ToFetch                 // an archive
)

// NodeOf returns the other node of a cluster that answers a question about an order best, by its name as
// users write it. "": this one. known: this one can answer as well, with what all nodes know.
func NodeOf(s *Orders, ref string, q Question) (node string, known bool) {
	k, err := s.named(ref)
	if err != nil || s.node == "" {
		return "", true
	}
	x, err := s.Get(k)
	if err != nil {
		if k.Node == s.node {
			return "", true
		}
		return k.Node, false
	}
	switch {
	case q == ToFetch:
		node, _ = s.LiesOn(&x)
	case q == ToShow && x.underWay() && x.Claim.Session != "" && x.Claim.Node != s.node &&
		slices.Contains(s.Cluster.Members(), x.Claim.Node):
		node = x.Claim.Node
	}
	return node, q != ToFetch || node == ""
}

// OfOrder answers a request about an order on the node that knows more of it: here, or there. When that one
// is silent this one answers with what it knows.
func OfOrder(s *Orders, r *http.Request, q Question, here func() error, there func(node string) error) error {
	node, known := NodeOf(s, r.PathValue("n"), q)
	if node == "" || access.GuestOf(r) != nil {
		return here()
	}
	err := there(node)
	if _, silent := errors.AsType[*access.AwayError](err); silent && known {
		return here()
	}
	return err
}
