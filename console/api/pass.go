// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"strings"

	"mirrord/app/access"
	"mirrord/app/orders"
)

// ofMirror is a call about a mirror: the node of a cluster that has it answers.
func ofMirror(answer func(*call) error) func(*call) error {
	return func(c *call) error {
		if c.Others == nil {
			return answer(c)
		}
		node, err := c.Others.MirrorAt(c.r, c.job)
		switch {
		case err != nil:
			return err
		case node == "":
			return answer(c)
		}
		return c.passOn(node)
	}
}

// ofOrder is a call about an order: the node that knows more of it answers, or when that one is silent this
// one with what it knows.
func ofOrder(q orders.Question, answer func(*call) error) func(*call) error {
	return func(c *call) error {
		node, known := orders.NodeOf(c.Orders, c.r.PathValue("n"), q)
		if node == "" || access.GuestOf(c.r) != nil {
			return answer(c)
		}
		err := c.passOn(node)
		if _, silent := errors.AsType[*access.AwayError](err); silent && known {
			return answer(c)
		}
		return err
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

// passable reports whether other nodes pass calls of a route on.
func passable(pattern string) bool {
	return strings.Contains(pattern, " /v1/jobs/{job}/") || strings.Contains(pattern, " /v1/orders/{n}")
}
