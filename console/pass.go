// SPDX-License-Identifier: Apache-2.0

package console

import (
	"mirrord/app/nodes"
	"mirrord/app/orders"
)

// ofMirror is a page about a mirror: the node of a cluster that has it answers.
func ofMirror(page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		return nodes.OfMirror(v.Others, v.r, func() error { return page(v) }, v.passOn)
	}
}

// ofOrder is a page about an order: the node that knows more of it answers.
func ofOrder(q orders.Question, page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		return orders.OfOrder(v.Orders, v.r, q, func() error { return page(v) }, v.passOn)
	}
}
