// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// What waits to be accepted is shown by diff, status, the page and accept, also before anything is published.
func TestFirstVersionWaits(t *testing.T) {
	t.Parallel()
	var broken atomic.Int64
	broken.Store(13)
	srv := brokenSite(t, &broken)
	d := startDaemon(t, jobsFor(t, srv.URL+"/"), t.TempDir(), "--listen", "127.0.0.1:0")
	d.do(cli.ExitPartial, "mirrord accept demo", "run-now", "demo", "--set", "limits.retries=0")
	held := `8 added, 0 changed, 0 removed; \+[0-9.]+ k?B; nothing is published yet; not known: 13 URLs without an answer`
	d.do(cli.ExitOK, "^demo: held for review: "+held, "diff", "demo")
	d.do(cli.ExitOK, "(?m)^ +8 .* \\./$", "diff", "demo", "--held")
	d.do(cli.ExitOK, `"waiting": \[`, "status", "demo", "--json")
	resp, err := http.Get(statusAddress(t, d))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(page), "nothing is published yet; not known: 13 URLs") {
		t.Errorf("%v: %s", err, page)
	}
	asks := func(answer string, yes bool) (string, error) {
		var errs bytes.Buffer
		e := cli.Environ{
			Stdin:     strings.NewReader(answer),
			Stderr:    &errs,
			Asks:      true,
			LookupEnv: vars(),
		}
		err := (&cli.CLI{Environ: e, JobsFlag: d.jobs, StateFlag: d.state}).ConfirmAccept("demo", false, yes, true)
		return errs.String(), err
	}
	for _, answer := range []string{"n\n", "\n", ""} {
		said, err := asks(answer, false)
		if (err == nil) || !strings.Contains(said, "demo: held for review: 8 added") {
			t.Errorf("%q: %v, %q", answer, err, said)
		}
	}
	if said, err := asks("y\n", false); (err != nil) || !strings.HasSuffix(said, "Publish it? [y/N] ") {
		t.Errorf("yes: %v, %q", err, said)
	}
	if said, err := asks("", true); (err != nil) || strings.Contains(said, "[y/N]") {
		t.Errorf("--yes: %v, %q", err, said)
	}
	d.do(cli.ExitOK, "version 1 published", "accept", "demo")
	if said, err := asks("", false); (err != nil) || (said != "") {
		t.Errorf("nothing waits: %v, %q", err, said)
	}
}
