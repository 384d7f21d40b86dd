// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/internal/count"
	"mirrord/scheduler/status"
)

// What to do about a job has a button or a link wherever the console has one, and no command; times are those
// of all pages.
func TestFixesAreButtons(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{status.AgainHint("a", ""), `<button class="small" form="fix" formaction="/jobs/a/run">Run now</button>`},
		{"ask its owner (mirrord run-now a --full reads it again)", `formaction="/jobs/a/run?full=1"`},
		{status.AcceptHint("a"), `formaction="/jobs/a/accept">Approve and publish</button>`},
		{status.HeldHint("a"), `formaction="/jobs/a/accept"`},
		{status.GapsHint("a", ""), `href="#gaps"`},
		{status.GapsHint("a", "x is cut short by limits.max_size"), `the <a href="/jobs/a/file">job file</a>`},
		{"free some space (mirrord gc), or", `(<a href="/jobs/a/gc">Prune…</a>)`},
		{"mirrord gc a", `<a href="/jobs/a/gc">`},
		{status.RebuildHint("a"), `<a href="/jobs/a/repair">Repair…</a>`},
		{status.DropHint("a"), `<a href="/jobs/a/repair">Repair…</a> removes lost files`},
		{"mirrord repair a", `<a href="/jobs/a/repair">`},
		{"mirrord check", `<a href="/jobs/a/file">Job file</a>`},
		{"or mirrord remove a, which deletes the mirror", `<a href="/jobs/a/remove">`},
		{"mirrord explain a URL says why one failed", `<a href="/jobs/a/explain">`},
		{"as of 2026-11-26T14:05:06Z", `<time class="when" datetime="2026-11-26T14:05:00Z"`},
		{"the run of 2026-11-26 14:05 UTC was cut off", `datetime="2026-11-26T14:05:00Z"`},
		{"at 2026-11-26 14:05 QQQ", "2026-11-26 14:05 QQQ"},
		{"1 accepted as missing (since 2026-11-30)", `(since <time datetime="2026-11-30">30 Nov 2026</time>)`},
		{"forgotten on 2026-11-06: a request", `on <time datetime="2026-11-06">6 Nov 2026</time>: a`},
		{"of http://a.test/2026-11-30/ on 2026-13-30", "of http://a.test/2026-11-30/ on 2026-13-30"},
		{"<b>", "&lt;b&gt;"},
	} {
		got := string(prose("a", x.text))
		if !strings.Contains(got, x.want) || strings.Contains(got, "mirrord") {
			t.Errorf("%s: %s", x.text, got)
		}
	}
}

// The page of a job that failed has the button that its fix names, and readers, who may not press it, do not.
func TestFixOfAPage(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Health, b.daemon.jobs[0].Fix = status.Failed, status.AgainHint("job0000", "")
	b.login(Operate)
	const button = ".todo button[form=fix][formaction='/jobs/job0000/run']"
	if n := parse(t, b.want(http.StatusOK, "Fix:", "/jobs/job0000", nil)).Find(button).Length(); n != 1 {
		t.Errorf("%d buttons", n)
	}
	since := time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC)
	b.daemon.jobs[0].Last = &status.Run{
		Verdict:   status.VerdictGaps,
		Gaps:      1,
		GapsSince: &since,
	}
	for n, page := range []string{"/jobs/job0000", "/"} { // beside its buttons, and in the state
		const want = `1 new (since <time datetime="2026-11-20">20 Nov 2026</time>)`
		b.want(http.StatusOK, want, page, nil)
		b.daemon.jobs[0].Health = status.Gaps
		if got := strings.Count(b.want(http.StatusOK, want, page, nil), want); got != 2-n {
			t.Errorf("%s has it %d times", page, got)
		}
	}
	b.login(Read)
	if n := parse(t, b.want(http.StatusOK, "", "/jobs/job0000", nil)).Find(".todo").Length(); n != 0 {
		t.Errorf("%d fixes for readers", n)
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "0 s",
		440 * time.Millisecond:          "0.44 s",
		1580 * time.Millisecond:         "1.58 s",
		3*time.Minute + 53*time.Second:  "3 min 53 s",
		2*time.Hour + 5*time.Minute + 7: "2 h 5 min",
	} {
		if got := count.Took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
