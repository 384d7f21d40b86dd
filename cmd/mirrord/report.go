// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"regexp"
	"strings"

	"mirrord/app/env"
	"mirrord/mirror"
	"mirrord/scheduler/status"
)

// hints are what the report of a run tells its user to do.
type hints struct {
	accept string // when the run was held back as suspicious, or as the first one
	held   string // when a rollback held it back
	full   string // to have everything requested, when the run did not
	look   string // to see the first version
	// when it found new gaps, or was partial, by its reasons
	gaps, again func(why string) string
	entry       func(why string) string // when it was suspicious, and accept cannot publish it either
}

// jobHints are the hints for a job of the jobs directory.
func jobHints(name string) hints {
	return hints{
		accept: status.AcceptHint(name),
		gaps:   func(why string) string { return status.GapsHint(name, why) },
		held:   status.HeldHint(name),
		full:   "mirrord run-now " + name + " --full",
		look:   "mirrord serve " + name,
		again:  func(why string) string { return status.AgainHint(name, why) },
		entry:  func(why string) string { return status.AgainHint(name, why) },
	}
}

// typed is a hint as its reader has to type it: who came by sudo needs it for the commands of the hint, too.
func (a *cli) typed(hint string) string {
	if _, sudo := a.lookupEnv("SUDO_USER"); !a.root || !sudo {
		return hint
	}
	hint = regexp.MustCompile(`(^|[^/\w-])mirrord ([a-z])`).ReplaceAllString(hint, "${1}sudo mirrord $2")
	return strings.ReplaceAll(hint, "sudo sudo ", "sudo ")
}

// printSummary prints the report of a run, with what to do.
func (a *cli) printSummary(sum *mirror.Summary, h hints) error {
	if a.json {
		return sum.WriteJSON(a.stdout)
	}
	if err := sum.WriteTextFor(a.stdout, h.full); err != nil {
		return err
	}
	switch {
	case sum.Verdict == mirror.Suspicious && h.entry != nil && status.NeedsEntry(sum.Reasons):
		a.printf("  what to do: %s\n", a.typed(h.entry(strings.Join(sum.Reasons, "\n"))))
	case sum.Held != nil && h.held != "":
		a.printf("  what to do: %s\n", a.typed(h.held))
	case sum.Verdict == mirror.Gaps && h.gaps != nil:
		if do := h.gaps(strings.Join(sum.Reasons, "\n")); do != "" {
			a.printf("  what to do: %s\n", a.typed(do))
		}
	case (sum.Verdict == mirror.Suspicious || sum.Gaps.Hold) && h.accept != "":
		a.printf("  what to do: %s\n", a.typed(h.accept))
	case sum.Verdict == mirror.Partial && h.again != nil && len(sum.Reasons) > 0:
		a.printf("  what to do: %s\n", a.typed(h.again(strings.Join(sum.Reasons, "\n"))))
	}
	if sum.Published && sum.Version == 1 && h.look != "" {
		a.printf("  look at it: %s\n", a.typed(h.look))
	}
	return nil
}

// report prints the summary of a run, if there is one, and returns the run's error.
func (a *cli) report(sum *mirror.Summary, err error, h hints) error {
	known, ok := errors.AsType[*env.Error](err)
	if sum == nil || (ok && known.Whole && !a.json) {
		return err
	}
	if perr := a.printSummary(sum, h); perr != nil {
		return perr
	}
	return err
}

// withProgress shows how far a run is while it goes on, and reports how it ended.
func (a *cli) withProgress(
	name string, h hints, run func(show func(status.Progress)) (*mirror.Summary, error),
) error {
	p := newProgress(a, name, a.json)
	sum, err := run(p.update())
	p.clear()
	return a.report(sum, err, h)
}
