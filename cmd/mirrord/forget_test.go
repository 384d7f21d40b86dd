// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/status"
)

// A run for a URL that was forgotten does not begin, in the daemon either.
func walkForgotten(t *testing.T, _ string) {
	var broken atomic.Int64
	site := brokenSite(t, &broken)
	w := newWalk(t, "")
	w.job(site.URL + "/")
	w.run(exitOK)
	u := site.URL + "/p3.html"
	w.do(exitOK, "forget", w.name, u, "--reason", "order 12", "--yes")
	for _, urls := range [][]string{{u}, {"p2.html", "p3.html"}} {
		said := w.do(exitUsage, append([]string{"run-now", w.name}, urls...)...)
		if !strings.Contains(said, u+" is not mirrored: forgotten on 2") ||
			!strings.Contains(said, "order 12; to mirror it again: mirrord forget walked \""+u+"\" --allow") ||
			!strings.Contains(said, status.AllowHint(w.name, u)) {
			t.Error(said)
		}
	}
	w.do(exitOK, "run-now", w.name, "p2.html")
	w.do(exitOK, "forget", w.name, u, "--allow")
	w.do(exitOK, "run-now", w.name, "p3.html")
	w.well()
}
