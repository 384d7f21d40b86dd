// SPDX-License-Identifier: Apache-2.0

// Package daemon has the commands that keep running, daemon with health, notify and reload below it, serve
// and demo, and console with token and user below it.
package daemon
