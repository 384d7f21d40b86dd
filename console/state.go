// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"slices"
	"strings"

	"mirrord/app/look"
	"mirrord/scheduler/status"
)

// kind is a state of a mirror as the console names it: a word, and the class that gives it shape and colour.
type kind struct {
	Key, Word, Class string
	Help             string // place in the guide; "": it is no problem
}

// Needs reports whether an operator has to decide.
func (k kind) Needs() bool { return k.Class == "bad" || k.Key == "held" }

// kinds lists the states, those that need an operator first.
func kinds() []kind {
	return []kind{
		{"damaged", "Damaged", "bad", "damage"},
		{"invalid", "Job file invalid", "bad", "troubleshooting#it-does-not-run-or-not-often-enough"},
		{"full", "Disk full", "bad", "running#disk"},
		{"failing", "Failing", "bad", "troubleshooting"},
		{"held", "Held for review", "warn", "troubleshooting#a-run-is-held-for-review"},
		{"stale", "Stale", "warn", "troubleshooting#it-does-not-run-or-not-often-enough"},
		{"down", "Waiting for host", "warn", "troubleshooting#a-run-is-partial"},
		{"incomplete", "Incomplete", "warn", "troubleshooting#a-run-is-partial"},
		{"missing", "Missing", "warn", "troubleshooting#a-page-or-file-is-missing"},
		{"running", "Running", "busy", ""},
		{"queued", "Queued", "busy", "running#turns"},
		{"hours", "Outside its hours", "idle", ""},
		{"paused", "Paused", "idle", ""},
		{"never", "Never ran", "idle", ""},
		{"ok", "Up to date", "good", ""},
	}
}

// kindOf is the state of a job: what an operator has to decide, else what the job does now, else how its
// last run ended.
func kindOf(j *status.Job) kind {
	key := map[status.Health]string{
		status.OK:         "ok",
		status.New:        "never",
		status.Gaps:       "missing",
		status.Invalid:    "invalid",
		status.Partial:    "incomplete",
		status.Down:       "down",
		status.Stale:      "stale",
		status.Suspicious: "held",
		status.Failed:     "failing",
		status.Damaged:    "damaged",
		look.Broken:       "damaged",
	}[j.Health]
	does := map[status.Activity]string{
		status.Waiting: "queued",
		status.Running: "running",
		status.Ending:  "running",
		status.Paused:  "paused",
		status.Window:  "hours",
		status.NoRoom:  "full",
	}[j.Activity]
	all := kinds()
	of := func(key string) kind {
		i := max(0, slices.IndexFunc(all, func(k kind) bool { return k.Key == key }))
		return all[i]
	}
	k := of(key)
	if does != "" && !k.Needs() && k.Key != "down" {
		k = of(does)
	}
	switch p := j.Progress; {
	case k.Key == "running" && p != nil:
		if share, ok := runShare(p); ok {
			k.Word = fmt.Sprintf("%s %d %%", k.Word, share)
		}
	case k.Key == "missing" && j.Last != nil:
		k.Word = fmt.Sprintf("%d missing", j.Last.Gaps)
	}
	return k
}

// runShare is how much of a run is done, in percent of the URLs found so far.
func runShare(p *status.Progress) (int, bool) {
	done, all := p.Done, p.Done+int64(p.Queued+p.InFlight)
	if p.Total > 0 {
		done, all = p.Relocated, p.Total
	}
	if all == 0 {
		return 0, false
	}
	return int(100 * done / all), true
}

// noteOf is what the state of a job says beyond its kind and what the job does; "" for nothing.
func noteOf(j *status.Job) string {
	parts := strings.Split(strings.TrimPrefix(j.Say(), status.Shown(string(j.Health))), ", ")
	parts[0] = strings.TrimLeft(parts[0], ": ")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool {
		return p == "" || p == string(j.Activity)
	}), ", ")
}
