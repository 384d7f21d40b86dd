// SPDX-License-Identifier: Apache-2.0

// Package console is the web interface of a daemon: watch and read mirrors, decide, and change jobs, in a
// browser.
//
// It has a listener of its own: no page of a mirror ever shares its origin. Pages are drawn by the server
// from embedded templates. Each flow is a form, a redirect with 303 and a page, so that all works without
// scripts; the one script, htmx, only saves the reload. What a page does is done by the rooms of app and the
// daemon's control.API, as the commands do it.
//
// A request passes, in this order: the name of its host (DNS rebinding), the cross-origin check of unsafe
// methods (CSRF), the bound of its size, the login, and the role that its route needs. Each act, done or
// refused, is a line of the audit log.
//
// Logins: a link that works once, made over the control socket (mirrord console), and a header that a trusted
// proxy sets. docs/console.md is the guide.
package console
