// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"mirrord/app/daemon"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/scheduler/status"
)

// live is the part of a job's page that changes during a run.
type live struct {
	Job  *status.Job
	Kind kind
	Note string // what its state says beyond that
	Busy bool   // a run is under way
	Acts bool   // the visitor may use the remedies
}

func liveOf(who account, j *status.Job) live {
	return live{
		Job:  j,
		Kind: kindOf(j),
		Note: noteOf(j),
		Busy: busy(j),
		Acts: who.Operates(),
	}
}

func busy(j *status.Job) bool { return j.Activity == status.Running || j.Activity == status.Ending }

// ranRun is a run with what the table says of it.
type ranRun struct {
	status.Run
	Took, Saved   string
	Class, Result string
}

// jobData is what the page of a job shows.
type jobData struct {
	Job    *status.Job
	Live   live
	About  daemon.MirrorTitle
	At     string // where it is served; ""
	Held   bool   // something waits to be accepted
	Gaps   bool   // or gaps do
	RunID  string // of the run whose findings would be accepted
	Paused bool
	Runs   []ranRun // newest first
	Charts []runChart
	Scrub  []string
	Notes  []mirror.Note // of the last run
}

// jobPage shows a job.
func jobPage(v *visit) error {
	j, err := v.Daemon.Job(v.job)
	if err != nil {
		return err
	}
	runs, err := v.Daemon.Runs(v.job, runsShown)
	if err != nil {
		return err
	}
	titles := v.Daemon.Titles([]string{v.job})
	d := jobData{
		Job:    &j,
		Live:   liveOf(v.who, &j),
		About:  titles[v.job],
		At:     v.served(v.job, titles),
		Paused: j.Activity == status.Paused,
		RunID:  runID(j),
		Scrub:  j.Scrub.Lines(v.Now()),
		Notes:  notesOf(j.Summary),
	}
	if last := j.Last; last != nil {
		d.Held = len(last.Waiting) > 0
		d.Gaps = last.Verdict == status.VerdictGaps && last.Gaps > last.KnownGaps
	}
	for _, r := range runs {
		d.Runs = append(d.Runs, ranRun{
			Run:   r,
			Took:  count.Took(r.Ended.Sub(r.Started)),
			Saved: savedText(r.Spared),

			Class:  runClass(r.Verdict),
			Result: resultOf(&r),
		})
	}
	d.Charts = runCharts(runs)
	return v.show("job.html", v.job, d)
}

// notesOf returns the notes of the report of a run; nil without a report that can be read.
func notesOf(report json.RawMessage) []mirror.Note {
	var sum mirror.Summary
	if json.Unmarshal(report, &sum) != nil {
		return nil
	}
	return sum.Notes
}

// runID tells the last run of a job from others: what one saw is accepted, and not what came meanwhile.
func runID(j status.Job) string {
	if j.Last == nil {
		return ""
	}
	return j.Last.Ended.UTC().Format(time.RFC3339Nano)
}

// resultOf says how a run ended.
func resultOf(r *status.Run) string {
	switch r.Verdict {
	case status.VerdictGaps:
		return fmt.Sprintf("%d missing", r.Gaps)
	case status.VerdictPartial:
		return "Incomplete"
	case status.VerdictSuspicious:
		return "Held for review"
	case status.VerdictError:
		return "Failed"
	}
	if !r.Published {
		return "Nothing changed"
	}
	return "Complete"
}

// savedText says which requests were saved, and by what.
func savedText(by map[string]int64) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(by)) {
		if by[what] > 0 {
			how := cmp.Or(map[string]string{
				"price":  "unlikely to have changed",
				"budget": "beyond the limit",
				"expiry": "by lifetime",
			}[what], "by "+what)
			parts = append(parts, fmt.Sprintf("%d %s", by[what], how))
		}
	}
	return strings.Join(parts, ", ")
}

// liveJob streams the part of the page that changes, until the run has ended: then the whole page says
// something else.
func liveJob(v *visit) error {
	j, err := v.Daemon.Progress(v.job)
	if err != nil {
		return err
	}
	look := func() (part []byte, over bool) {
		j, err := v.Daemon.Progress(j.Name)
		l := liveOf(v.who, &j)
		if err != nil || !l.Busy {
			return nil, true
		}
		part, err = v.part("live", l)
		return part, err != nil
	}
	return stream(v, look)
}

// escapePath escapes a mirror path for an address.
func escapePath(p string) string { return (&url.URL{Path: p}).EscapedPath() }
