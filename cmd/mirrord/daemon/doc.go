// SPDX-License-Identifier: Apache-2.0

// Package daemon has the commands that keep running, daemon, serve and demo, and those of the console: open,
// token,
// user, health and notify-test.
package daemon
