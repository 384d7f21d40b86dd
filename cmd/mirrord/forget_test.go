// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync/atomic"
	"testing"
)

// A run for a URL that was forgotten does not begin, in the daemon either, and the way out leads out.
func TestRunForForgottenURL(t *testing.T) {
	t.Parallel()
	var broken atomic.Int64
	srv := brokenSite(t, &broken)
	d := startDaemon(t, jobsFor(t, srv.URL+"/"), t.TempDir())
	d.do(exitOK, "version 1 published", "run-now", "demo")
	d.do(exitOK, "1 URLs forgotten", "forget", "demo", srv.URL+"/p3.html", "--reason", "order 12", "--yes")
	const why = `p3.html is not mirrored: forgotten on 20.*: order 12; ` +
		`to mirror it again: mirrord forget demo ".*/p3.html" --allow`
	d.do(exitUsage, why, "run-now", "demo", srv.URL+"/p3.html")
	d.do(exitUsage, why, "run-now", "demo", "p2.html", "p3.html")
	d.do(exitOK, "^demo: ", "run-now", "demo", "p2.html")
	d.do(exitOK, "may be mirrored again", "forget", "demo", srv.URL+"/p3.html", "--allow")
	d.do(exitOK, "^demo: ", "run-now", "demo", "p3.html")
}
