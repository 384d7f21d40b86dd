// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"strings"

	"mirrord/app/access"
	"mirrord/app/orders"
)

// ofMirror is a page about a mirror: the node of a cluster that has it answers.
func ofMirror(page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if v.Others == nil {
			return page(v)
		}
		node, err := v.Others.MirrorAt(v.r, v.job)
		switch {
		case err != nil:
			return err
		case node == "":
			return page(v)
		}
		return passOn(v, node)
	}
}

// ofOrder is a page about an order: the node that knows more of it answers, or when that one is silent this
// one with what it knows.
func ofOrder(q orders.Question, page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		node, known := orders.NodeOf(v.Orders, v.r.PathValue("n"), q)
		if node == "" || access.GuestOf(v.r) != nil {
			return page(v)
		}
		err := passOn(v, node)
		if _, silent := errors.AsType[*access.AwayError](err); silent && known {
			return page(v)
		}
		return err
	}
}

// passOn has another node answer.
func passOn(v *visit, node string) error {
	return access.PassOn(v.w, v.r, node, v.Others.To(node), access.Guest{
		Name: v.who.Name,
		Role: v.who.Role,
		Via:  v.who.via,
		From: v.r.RemoteAddr,
		Base: v.base(),
	})
}

// passable reports whether other nodes pass requests of a route on.
func passable(pattern string) bool {
	return strings.Contains(pattern, " /jobs/{job}/") || strings.Contains(pattern, " /orders/{n}") ||
		pattern == "GET /order"
}
