// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *time.Time {
	t := noon.Add(-d)
	return &t
}

// A job that failed, is suspicious or has not been verified for longer than its bound is shown as that, never
// as well.
func TestJudge(t *testing.T) {
	run := func(verdict string) *Run {
		return &Run{Verdict: verdict, Started: *ago(2 * time.Hour), Ended: *ago(time.Hour)}
	}
	suspicious := func(reasons ...string) *Run {
		r := run(VerdictSuspicious)
		r.Reasons = reasons
		return r
	}
	for _, tc := range []struct {
		name string
		job  Job
		want Health
		fix  string
	}{
		{"never ran", Job{}, New, ""},
		{"imported", Job{Version: 1}, OK, ""},
		{"complete", Job{Last: run(VerdictComplete), Verified: ago(2 * time.Hour)}, OK, ""},
		{"complete and running", Job{Last: run(VerdictComplete), Activity: Running}, OK, ""},
		{"failed and running", Job{Last: run(VerdictError), Activity: Running}, Failed, ""},
		{"failed", Job{Last: run(VerdictError), Activity: Idle}, Failed, "mirrord run-now x"},
		{"damaged", Job{Last: &Run{
			Verdict: VerdictError,
			Cause:   BadState,
		}}, Damaged, "mirrord repair --rebuild x; then: mirrord run-now x"},
		{"damaged and stale", Job{
			Last:       &Run{Verdict: VerdictComplete, Cause: BadState},
			Verified:   ago(80 * time.Hour),
			StaleAfter: 60,
		}, Damaged, "--rebuild"},
		{"partial", Job{Last: run(VerdictPartial), Version: 3}, Partial, "mirrord run-now x"},
		{"suspicious", Job{Last: run(VerdictSuspicious), Version: 3}, Suspicious, "mirrord accept x"},
		{"suspicious without entry point", Job{
			Last:    suspicious("the entry point http://h/: gone", "no entry point is in the mirror"),
			Version: 3,
		}, Suspicious, "change url in the job's file; then: mirrord run-now x"},
		{"suspicious by robots.txt", Job{
			Last:    suspicious("the entry point http://h/: disallowed", "no entry point is in the mirror"),
			Version: 3,
		}, Suspicious, "its robots.txt forbids that"},
		{"stale though complete", Job{
			Last:       run(VerdictComplete),
			Verified:   ago(80 * time.Hour),
			StaleAfter: 3 * 24 * 3600,
		}, Stale, "mirrord run-now x"},
		{"partial and stale", Job{
			Last:       run(VerdictPartial),
			Verified:   ago(80 * time.Hour),
			StaleAfter: 3 * 24 * 3600,
		}, Stale, ""},
		{"failed and stale", Job{
			Last:       run(VerdictError),
			Verified:   ago(80 * time.Hour),
			StaleAfter: 3 * 24 * 3600,
		}, Failed, ""},
		{"within its bound", Job{
			Last:       run(VerdictComplete),
			Verified:   ago(70 * time.Hour),
			StaleAfter: 3 * 24 * 3600,
		}, OK, ""},
		{"never complete for too long", Job{Last: run(VerdictPartial), Failures: 5, StaleAfter: 60}, Stale, ""},
		{"refused", Job{Last: run(VerdictComplete), Refused: true}, Invalid, "mirrord check"},
		{"refused and suspicious", Job{Last: run(VerdictSuspicious), Refused: true}, Suspicious, ""},
		{"refused and never ran", Job{Refused: true}, Invalid, "mirrord check"},
		{"unknown verdict", Job{Last: run("splendid")}, Failed, ""},
		{"paused", Job{Last: run(VerdictPartial), Activity: Paused}, Partial, "mirrord resume x"},
		{"no room", Job{Last: run(VerdictPartial), Activity: NoRoom}, Partial, "free some space"},
		{"a clock that went back", Job{
			Last:       run(VerdictComplete),
			Verified:   ago(-time.Hour),
			StaleAfter: 60,
		}, OK, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.job.Name = "x"
			tc.job.Judge(noon)
			if tc.name == "failed and running" && tc.job.Fix != "" {
				t.Errorf("what to do: %s", tc.job.Fix)
			}
			if tc.job.Health != tc.want || (tc.fix == "" && tc.want == OK && tc.job.Fix != "") ||
				!strings.Contains(tc.job.Fix, tc.fix) {
				t.Errorf("got %q (%s), want %q (%s)", tc.job.Health, tc.job.Fix, tc.want, tc.fix)
			}
			if tc.job.Staleness < 0 {
				t.Error("negative staleness")
			}
		})
	}
}

func TestTell(t *testing.T) {
	job := func(h Health, c Cause) *Job {
		v := map[Health]string{
			OK:         VerdictComplete,
			Partial:    VerdictPartial,
			Suspicious: VerdictSuspicious,
			Failed:     VerdictError,
			Stale:      VerdictPartial,
		}[h]
		return &Job{
			Name:   "x",
			Health: h,
			Stale:  h == Stale,
			Last:   &Run{Verdict: v, Cause: c},
		}
	}
	told := func(k Kind, d time.Duration) Told { return Told{Kind: k, At: noon.Add(-d)} }
	for _, tc := range []struct {
		name string
		told Told
		job  *Job
		want Kind
	}{
		{"well", Told{}, job(OK, ""), ""},
		{"failed", Told{}, job(Failed, ""), TellFailed},
		{"damaged", Told{}, job(Damaged, BadState), TellFailed},
		{"partial by itself", Told{}, job(Partial, ""), TellFailed},
		{"partial by the window", Told{}, job(Partial, OutOfHours), ""},
		{"partial by hand", Told{}, job(Partial, Cancelled), ""},
		{"partial by shutdown", Told{}, job(Partial, Shutdown), ""},
		{"disk full", Told{}, job(Partial, DiskFull), TellFailed},
		{"suspicious", Told{}, job(Suspicious, ""), TellSuspicious},
		{"stale", Told{}, job(Stale, ""), TellStale},
		{"stale by the window", Told{}, job(Stale, OutOfHours), TellStale},
		{"again within a day", told(TellFailed, 23*time.Hour), job(Failed, ""), ""},
		{"again after a day", told(TellFailed, 25*time.Hour), job(Failed, ""), TellFailed},
		{"something else within the hour", told(TellFailed, time.Minute), job(Stale, ""), ""},
		{"something else later", told(TellFailed, 2*time.Hour), job(Stale, ""), TellStale},
		{"lasting", Told{}, lasting("read secret: x", false), TellFailed},
		{"lasting: one message", toldLasting("read secret: "), lasting("read secret: x", false), ""},
		{"lasting, and stale", toldLasting("read secret: "), lasting("read secret: x", true), TellStale},
		{"another that is lasting", toldLasting("publish.dir"), lasting("read secret: x", false), TellFailed},
		{"lasting after a failure", told(TellFailed, 2*time.Hour), lasting("x", false), ""},
		{"lasting, a day after a failure", told(TellFailed, 25*time.Hour), lasting("x", false), TellFailed},
		{"lasting is over", toldLasting("x"), job(OK, ""), TellRecovered},
		{"suspicion: one message", told(TellSuspicious, 100*time.Hour), job(Suspicious, ""), ""},
		{"suspicion does not wait", told(TellFailed, time.Minute), job(Suspicious, ""), TellSuspicious},
		{"recovery", told(TellStale, time.Minute), job(OK, ""), TellRecovered},
		{"recovery: one message", told(TellRecovered, time.Minute), job(OK, ""), ""},
		{"a site that comes and goes", told(TellRecovered, time.Minute), job(Failed, ""), ""},
		{"and goes for good", told(TellRecovered, 2*time.Hour), job(Failed, ""), TellFailed},
		{"interrupted is no recovery", told(TellFailed, time.Minute), job(Partial, Shutdown), ""},
		{"a clock that went back", told(TellFailed, -time.Hour), job(Failed, ""), TellFailed},
		{"locked elsewhere", Told{}, job(Failed, Busy), ""},
		{"new gaps", Told{}, withGaps(true), TellGaps},
		{"known gaps", Told{}, withGaps(false), ""},
		{"gaps: one message", told(TellGaps, 0), withGaps(true), ""},
		{"gaps that grew after they were told", told(TellGaps, 25*time.Hour), withGaps(true), TellGaps},
		{"new gaps after a failure", told(TellFailed, 2*time.Hour), withGaps(true), TellGaps},
		{"new gaps within the hour", told(TellFailed, 30*time.Minute), withGaps(true), ""},
		{"gaps are over", told(TellGaps, 25*time.Hour), job(OK, ""), TellRecovered},
	} {
		if got := tc.told.Tell(tc.job, noon); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// lasting is a job whose last run ended in an error that another one would meet again.
func lasting(why string, stale bool) *Job {
	return &Job{
		Name:   "x",
		Health: Failed,
		Stale:  stale,
		Last:   &Run{Verdict: VerdictError, Error: why, Lasting: true},
	}
}

func toldLasting(why string) Told {
	return Told{Kind: TellFailed, At: noon.Add(-100 * time.Hour), Lasting: why}
}

// withGaps is a job whose last run ended an hour before noon with gaps.
func withGaps(grew bool) *Job {
	return &Job{Name: "x", Health: Gaps, Last: &Run{
		Verdict:   VerdictGaps,
		Ended:     *ago(time.Hour),
		Gaps:      3,
		KnownGaps: 1,
		GapsSince: ago(72 * time.Hour),
		GapsGrew:  grew,
	}}
}

func TestGapsInWords(t *testing.T) {
	j := withGaps(true)
	j.Judge(noon)
	since := " (since " + j.Last.GapsSince.Format(time.DateOnly) + ")"
	if got, want := j.Say(), "missing: 2 new and 1 accepted"+since; (got != want) || (j.Health != Gaps) {
		t.Errorf("%s: %q, want %q", j.Health, got, want)
	}
	if !strings.Contains(j.Fix, "mirrord accept x") {
		t.Errorf("what to do: %q", j.Fix)
	}
	m := NewMessage(TellGaps, "mirror.example", *j, noon)
	if (m.Subject != "mirrord on mirror.example: x has newly missing resources; the rest is published") ||
		!strings.Contains(m.Text, "missing: 2 new and 1 accepted"+since) {
		t.Errorf("%q\n%s", m.Subject, m.Text)
	}
	j.Last.Verdict, j.Last.KnownGaps = VerdictComplete, 3
	j.Judge(noon)
	isOK := (j.Health == OK) && (j.Fix == "")
	if got, want := j.Say(), "ok but for 3 accepted as missing"+since; (got != want) || !isOK {
		t.Errorf("%s: %q, want %q; %s", j.Health, got, want, j.Fix)
	}
	m = NewMessage(TellRecovered, "mirror.example", *j, noon)
	if !strings.Contains(m.Subject, "3 accepted as missing") {
		t.Errorf("%q", m.Subject)
	}
	j.Last.Gaps, j.Last.KnownGaps = 1, 1
	if got, want := j.Last.GapsText(), "1 accepted as missing"+since; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	held := &Job{Name: "x", Last: &Run{Verdict: VerdictPartial, Hold: true, Ended: noon}}
	if held.Judge(noon); !strings.Contains(held.Fix, "mirrord accept x") {
		t.Errorf("a first version that waits: %q", held.Fix)
	}
}

func TestRoomMessage(t *testing.T) {
	j := Job{Name: "docs", Activity: NoRoom, Fix: "mirrord accept docs"}
	m := NewMessage(TellRoom, "host", j, time.Time{})
	if !strings.Contains(m.Subject, "docs waits for room on the disk") ||
		!strings.Contains(m.Text, "reported once for all of them\nfix: free some space (mirrord gc)") {
		t.Errorf("%s\n%s", m.Subject, m.Text)
	}
}

func TestMessage(t *testing.T) {
	j := Job{
		Name: "samba",
		Last: &Run{
			Verdict: VerdictPartial,
			Ended:   *ago(time.Hour),
			Reasons: []string{"the host\r\nBcc: all@example.org\ndoes not answer"},
			Error:   strings.Repeat("x", 2000),
			Waiting: []string{"1 added", "  a/"},
		},
		Failures: 3,
		Version:  7,
		Complete: ago(50 * time.Hour),
		Next:     ago(-time.Hour),
		NextText: "2026-11-20 14:00 CET",
		Problems: []string{"a\nb"},
		Progress: &Progress{},
	}
	j.Judge(noon)
	m := NewMessage(TellFailed, "mirror.example", j, noon)
	if m.Subject != "mirrord on mirror.example: samba did not end well, 3 times in a row" {
		t.Errorf("%q", m.Subject)
	}
	for _, want := range []string{
		"samba: partial 3 times\n", "why: the host  Bcc: all@example.org does not answer\n",
		"last complete run: 2026-11-18 10:00 UTC\n", "published: version 7\n",
		"fix: mirrord run-now samba\n", "problem: a b\n",
		"\nnext run: 2026-11-20 14:00 CET\n", "\naccept would publish: 1 added\n  a/\n",
	} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("no %q in\n%s", want, m.Text)
		}
	}
	if len(m.Text) > 2000 || m.Job.Progress != nil {
		t.Errorf("too much: %s", m.Text)
	}
	for _, k := range []Kind{TellSuspicious, TellStale, TellRecovered, TellTest} {
		if m := NewMessage(k, "h", Job{Name: "x"}, noon); m.Subject == "" || strings.Contains(m.Subject, "\n") {
			t.Errorf("%s: %q", k, m.Subject)
		}
	}
	var back Message
	b, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil || back.Text != m.Text || back.Job.Last.Ended != j.Last.Ended {
		t.Errorf("%v: %+v", err, back)
	}
}

func TestWaits(t *testing.T) {
	since := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	at := func(d time.Duration, zone *time.Location) *time.Time {
		v := since.Add(d).In(zone)
		return &v
	}
	cet := time.FixedZone("CET", 3600)
	until := func(w Wait, d time.Duration, zone *time.Location) Wait {
		w.Since, w.Until = &since, at(d, zone)
		return w
	}
	host, window := Wait{For: ForHost, Host: "x"}, Wait{For: ForWindow}
	for want, w := range map[string]Wait{
		"waits for a turn":                           {For: ForTurn},
		"waits for a turn behind a, b":               {For: ForTurn, Behind: []string{"a", "b"}},
		"waits for a turn behind a, b, c and 2 more": {For: ForTurn, Behind: []string{"a", "b", "c", "d", "e"}},
		"waits for host x":                           host,
		"waits for host x until 12:30 UTC":           until(host, 210*time.Minute, time.UTC),
		"waits for host x until 09:01:05 UTC":        until(host, 65*time.Second, time.UTC),
		"waits for answers of host x, which is slow": {For: ForSlow, Host: "x"},

		"waits for host x, which is requested by a, b": {
			For:    ForHost,
			Host:   "x",
			Held:   HeldBusy,
			Behind: []string{"a", "b"},
		},
		"waits for host x, because a wants 300ms between requests": {
			For:    ForHost,
			Host:   "x",
			Held:   HeldWish,
			Behind: []string{"a"},
			Gap:    300 * time.Millisecond,
		},
		"waits for host x until 12:30 UTC, which asked to wait": until(
			Wait{For: ForHost, Host: "x", Held: HeldAsked}, 210*time.Minute, time.UTC),
		"waits for host x until 12:30 UTC, whose requests fail": until(
			Wait{For: ForHost, Host: "x", Held: HeldFails}, 210*time.Minute, time.UTC),
		"waits for host x, whose robots.txt wants 10s between requests": {
			For:  ForHost,
			Host: "x",
			Held: HeldRobots,
			Gap:  10 * time.Second,
		},

		"waits for its window, which opens at 22:00 +01:00":         until(window, 12*time.Hour, cet),
		"waits for its window, which opens at 2026-11-23 09:00 UTC": until(window, 48*time.Hour, time.UTC),
	} {
		if got := w.Say(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	d := Daemon{
		MaxRuns: 4,
		Parked:  2,
		Turns:   []TurnHeld{{Job: "a"}, {Job: "b", Short: true}},
		Hosts:   []HostHeld{{Host: "h", Jobs: []string{"a"}, Waiting: []string{"b"}}},
	}
	const want = "run slots, of 4: a, b; queued runs: 2; host h: a; next b"
	if got := strings.Join(d.Holders(), "; "); got != want {
		t.Errorf("got %q", got)
	}
}

func TestSay(t *testing.T) {
	for want, j := range map[string]Job{
		"ok":                                  {Health: OK, Activity: Idle},
		"failed 3 times, running":             {Health: Failed, Failures: 3, Activity: Running},
		"partial, waits for its window":       {Health: Partial, Failures: 1, Activity: Window},
		"ok, waits for a turn":                {Health: OK, Activity: Waiting},
		"partial, waits for room on the disk": {Health: Partial, Activity: NoRoom},
		"stale, paused":                       {Health: Stale, Activity: Paused},
	} {
		if got := j.Say(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The metrics keep to the text format of Prometheus: every sample belongs to a family that was declared
// before it, once, and samples differ.
func TestMetrics(t *testing.T) {
	bad := Job{
		Name: "a\"b\\c\nd",
		Last: &Run{
			Verdict:   VerdictPartial,
			Started:   *ago(2 * time.Hour),
			Ended:     *ago(time.Hour),
			Requests:  12,
			Gaps:      3,
			KnownGaps: 1,
			Spared:    map[string]int64{"sitemap": 5, "listing": 7},
		},
		Next:    ago(-time.Hour),
		Refused: true,
	}
	bad.Judge(noon)
	good := Job{
		Name:     "good",
		Last:     &Run{Verdict: VerdictComplete, Started: *ago(2 * time.Hour), Ended: *ago(time.Hour)},
		Verified: ago(2 * time.Hour),
		Version:  3,
		Files:    10,
	}
	good.Judge(noon)
	var b bytes.Buffer
	if err := WriteMetrics(&b, All{Daemon: Daemon{
		Version: "1",
		Started: noon,
		Ready:   true,
		Free:    1e12,
		Runs:    Counts{Complete: 5},
	}, Jobs: []Job{bad, good, {Name: "new"}, {Name: "not\xffutf8"},
		{Name: "x", Health: "broken"}}}); err != nil {
		t.Fatal(err)
	}
	family, families, samples := "", map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		var name, rest string
		switch {
		case strings.HasPrefix(line, "# HELP "):
			fmt.Sscanf(line, "# HELP %s", &name)
			if families[name] {
				t.Errorf("%s is declared twice", name)
			}
			families[name], family = true, name
		case strings.HasPrefix(line, "# TYPE "):
			if fmt.Sscanf(line, "# TYPE %s %s", &name, &rest); name != family ||
				(rest != "gauge" && rest != "counter") || rest == "counter" != strings.HasSuffix(name, "_total") {
				t.Errorf("%q", line)
			}
		default:
			i := strings.LastIndexByte(line, ' ')
			if samples[line[:i]] || !strings.HasPrefix(line, family) ||
				(line[len(family)] != ' ' && line[len(family)] != '{') {
				t.Errorf("sample %q in family %s", line, family)
			}
			samples[line[:i]] = true
		}
	}
	for _, want := range []string{
		`mirrord_job_last_run_requests{job="a\"b\\c\nd"} 12`, `mirrord_job_ok{job="good"} 1`,
		`mirrord_job_ok{job="new"} 0`, `mirrord_jobs{state="partial"} 1`,
		`mirrord_jobs{state="broken"} 1`,
		`mirrord_job_staleness_seconds{job="good"} 7200`,
		`mirrord_job_last_run_spared_requests{job="a\"b\\c\nd",by="listing"} 7`,
		`mirrord_job_gaps{job="a\"b\\c\nd",known="false"} 2`, `mirrord_job_gaps{job="good",known="true"} 0`,
		`mirrord_runs_total{verdict="complete"} 5`, `mirrord_config_ok 0`, `mirrord_disk_free_bytes 1e+12`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, &b)
		}
	}
	if !utf8.Valid(b.Bytes()) {
		t.Error("no UTF-8: Prometheus refuses all of it")
	}
	if strings.Contains(b.String(), `mirrord_job_last_run_requests{job="new"}`) {
		t.Error("a job that never ran has a last run")
	}
}
