// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

// A run for a URL that was forgotten does not begin, in the daemon either.
func walkForgotten(t *testing.T, _ string) {
	var broken atomic.Int64
	site := brokenSite(t, &broken)
	w := newWalk(t, "")
	w.job(site.URL + "/")
	w.run(cli.ExitOK)
	u := site.URL + "/p3.html"
	w.do(cli.ExitOK, "forget", w.name, u, "--reason", "order 12", "--yes")
	for _, urls := range [][]string{{u}, {"p2.html", "p3.html"}} {
		said := w.do(cli.ExitUsage, append([]string{"run-now", w.name}, urls...)...)
		if !strings.Contains(said, u+" is not mirrored: forgotten on 2") ||
			!strings.Contains(said, "order 12; to mirror it again: mirrord forget walked \""+u+"\" --allow") ||
			!strings.Contains(said, status.AllowHint(w.name, u)) {
			t.Error(said)
		}
	}
	w.do(cli.ExitOK, "run-now", w.name, "p2.html")
	w.do(cli.ExitOK, "forget", w.name, u, "--allow")
	w.do(cli.ExitOK, "run-now", w.name, "p3.html")
	w.well()
}

// Another mirror has the same page: the command that forget names takes it out of that one too.
func walkForgottenElsewhere(t *testing.T, _ string) {
	var broken atomic.Int64
	site := brokenSite(t, &broken)
	w := newWalk(t, "")
	for _, w.name = range []string{"second", "walked"} {
		w.job(site.URL+"/", `scope.exclude = ["/not/`+w.name+`/**"]`)
		w.do(cli.ExitOK, "daemon", "reload")
		w.run(cli.ExitOK)
	}
	u := site.URL + "/p3.html"
	said := w.do(cli.ExitOK, "forget", w.name, u, "--reason", "order 12", "--yes")
	if !strings.Contains(said, "second mirrors it too, as "+u+": "+status.ForgetHint("second", u)) {
		t.Error(said)
	}
	said = w.do(cli.ExitOK, "forget", "second", u, "--reason", "TEXT", "--yes")
	if strings.Contains(said, "elsewhere") {
		t.Error(said)
	}
	for _, name := range []string{"second", "walked"} {
		if _, err := os.Stat(filepath.Join(w.d.state, "sites", name, "current", "p3.html")); !os.IsNotExist(err) {
			t.Errorf("%s still has it: %v", name, err)
		}
	}
	w.well()
}
