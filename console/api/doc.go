// SPDX-License-Identifier: Apache-2.0

// Package api is what programs of other machines may ask of a daemon: HTTP and JSON over TCP, with tokens.
//
// It has what the control socket has (package control) under the same paths and with the same answers, and
// besides creates, changes and removes jobs, and takes signed calls that a site sends when it has changed.
// openapi.yaml describes it, and is served; docs/api.md is the guide.
//
// A request passes, in this order: the token, the role that its route needs, the rate of its token, the bound
// of its size. Each act, done or refused, is a line of the audit log. No cookie counts here, so that no page
// can make a browser act; the answers have no headers that would let pages of others read them.
package api
