// SPDX-License-Identifier: Apache-2.0

package api

import (
	"mirrord/app/access"
	"mirrord/app/nodes"
	"mirrord/app/orders"
)

// ofMirror is a call about a mirror: the node of a cluster that has it answers.
func ofMirror(answer func(*call) error) func(*call) error {
	return func(c *call) error {
		return nodes.OfMirror(c.Others, c.r, func() error { return answer(c) }, c.passOn)
	}
}

// ofOrder is a call about an order: the node that knows more of it answers.
func ofOrder(q orders.Question, answer func(*call) error) func(*call) error {
	return func(c *call) error {
		return orders.OfOrder(c.Orders, c.r, q, func() error { return answer(c) }, c.passOn)
	}
}

// passOn has another node answer.
func (c *call) passOn(node string) error {
	err := access.PassOn(c.w, c.r, node, c.Others.To(node), access.Guest{
		Name: c.who,
		Role: c.as,
		Via:  "token",
		From: c.r.RemoteAddr,
		Base: c.base(),
	})
	c.passed = err == nil
	return err
}
