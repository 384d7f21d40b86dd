// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

func walkDamaged(t *testing.T, _ string) {
	w := newWalk(t, "")
	w.job(w.site.URL + "/")
	w.run(cli.ExitOK)
	dir := filepath.Join(w.d.state, "sites", w.name)
	if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "site.db", strings.Repeat("this is no database; ", 500))
	w.run(cli.ExitError)
	fix := w.shown("mirrord repair --rebuild walked; then: mirrord run-now walked")
	if w.was.Health != status.Damaged || !strings.HasPrefix(fix, status.RebuildHint(w.name)) {
		t.Errorf("%s: %s", w.was.Health, fix)
	}
	w.do(cli.ExitOK, "verify", "--rebuild", w.name)
	w.gone()
}

// manyPages is a site of an entry point that links to 40 pages, of which as many are there as pages says.
func manyPages(pages *atomic.Int64) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/p"), 10, 64)
		switch {
		case r.URL.Path == "/":
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, "<title>all</title>")
			for i := range 40 {
				fmt.Fprintf(rw, "<a href=p%d>%d</a> ", i, i)
			}
		case err != nil || n >= pages.Load():
			http.NotFound(rw, r)
		default:
			page(rw, r)
		}
	}
}

func walkHeld(t *testing.T, _ string) {
	w := newWalk(t, "")
	var pages atomic.Int64
	pages.Store(40)
	w.answers(manyPages(&pages))
	w.job(w.site.URL+"/", `policy = "full"`)
	w.run(cli.ExitOK)
	pages.Store(2)
	w.until(status.Suspicious)
	if fix := w.shown("mirrord diff walked", "mirrord accept walked"); fix != status.AcceptHint(w.name) {
		t.Error(fix)
	}
	if said := w.do(cli.ExitOK, "diff", w.name); !strings.Contains(said, "p10.html") {
		t.Errorf("diff does not show what would go:\n%s", said)
	}
	w.do(cli.ExitOK, "accept", w.name)
	w.well()
}

func walkGaps(t *testing.T, _ string) {
	var broken atomic.Int64
	broken.Store(6)
	site := brokenSite(t, &broken)
	w := newWalk(t, `limits.max_failures`)
	w.job(site.URL + "/")
	w.run(cli.ExitGaps)
	fix := w.shown("nothing, each run tries again", "mirrord accept walked")
	if fix != status.GapsHint(w.name, "") {
		t.Error(fix)
	}
	w.do(cli.ExitOK, "accept", w.name)
	w.well()
	broken.Store(0)
	w.do(cli.ExitOK, "run-now", w.name, "--full")
	w.well()
}

func walkNoRoom(t *testing.T, _ string) {
	w := newWalk(t, "")
	asked := make(chan struct{}, 1)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		page(rw, r)
	})
	w.job(w.site.URL+"/", `limits.min_free = "4000000TB"`)
	w.do(cli.ExitOK, "daemon", "reload")
	w.do(cli.ExitOK, "run-now", w.name, "--wait=false")
	w.shown("free some space (mirrord gc)", "lower limits.min_free in the job's file", "continues by itself")
	w.do(cli.ExitOK, "gc")
	w.job(w.site.URL + "/")
	w.do(cli.ExitOK, "daemon", "reload")
	select {
	case <-asked: // by itself
	case <-t.Context().Done():
		t.Fatal("the run does not continue by itself")
	}
	w.gone()
	t.Run("full", func(t *testing.T) {
		walkAs(t, "TestWalkFullDisk", &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
	})
}

func walkInvalid(t *testing.T, _ string) {
	w := newWalk(t, "")
	w.job(w.site.URL+"/", "titel = \"x\"")
	w.do(cli.ExitError, "daemon", "reload")
	w.shown("mirrord check")
	if said := w.do(cli.ExitError, "check"); !strings.Contains(said, "titel") {
		t.Errorf("check: %s", said)
	}
	w.job(w.site.URL+"/", "title = \"x\"")
	w.do(cli.ExitOK, "check")
	w.gone()
}

func walkPaused(t *testing.T, _ string) {
	w := newWalk(t, "")
	w.job(w.site.URL + "/")
	w.gone()
	w.do(cli.ExitOK, "pause", w.name)
	if w.shown("mirrord resume walked"); w.was.Activity != status.Paused {
		t.Errorf("%+v", w.was)
	}
	w.do(cli.ExitOK, "resume", w.name)
	w.well()
}

func walkRolledBack(t *testing.T, _ string) {
	w := newWalk(t, "")
	w.job(w.site.URL+"/", `policy = "full"`)
	w.run(cli.ExitOK)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, "<title>y</title><p>this is another text")
			return
		}
		page(rw, r)
	})
	w.run(cli.ExitOK)
	w.do(cli.ExitOK, "rollback", w.name)
	run(t.Context(), quiet(), []string{"run-now", w.name, "--jobs", w.d.jobs, "--state", w.d.state})
	if fix := w.shown("to publish the site as it is: mirrord accept walked"); fix != status.HeldHint(w.name) {
		t.Error(fix)
	}
	w.do(cli.ExitOK, "accept", w.name)
	w.well()
}

// A run by hand of a job whose file is refused says that it is not by that file.
func TestRunOfARefusedFile(t *testing.T) {
	w := newWalk(t, "")
	w.job(w.site.URL + "/")
	const old = "walked: its file is refused, so the run is by the last good one; why: mirrord check\n"
	if said := w.run(cli.ExitOK); strings.Contains(said, old) {
		t.Error(said)
	}
	w.job(w.site.URL+"/", "nonsense = 1")
	if said := w.run(cli.ExitOK); strings.Count(said, old) != 1 {
		t.Error(said)
	}
}
