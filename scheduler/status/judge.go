// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Judge sets Health, Staleness, Stale and Fix from the other fields.
func (j *Job) Judge(now time.Time) {
	j.Staleness, j.Stale = 0, false
	if j.Verified != nil {
		j.Staleness = max(0, int64(now.Sub(*j.Verified)/time.Second))
	}
	if j.StaleAfter > 0 {
		switch {
		case j.Verified != nil:
			j.Stale = j.Staleness > j.StaleAfter
		case j.Added != nil && now.Sub(*j.Added) > time.Duration(j.StaleAfter)*time.Second:
			// nothing has ever been complete, whether it ran or not
			j.Stale = true
		case j.Last != nil:
			j.Stale = now.Sub(j.Last.Started) > time.Duration(j.StaleAfter)*time.Second || j.Failures > 1
		}
	}
	j.Health = New
	worsen := func(h Health) {
		if h.Worse(j.Health) {
			j.Health = h
		}
	}
	if j.Last != nil {
		switch j.Last.Verdict {
		case VerdictComplete:
			j.Health = OK
		case VerdictGaps:
			j.Health = Gaps
		case VerdictSuspicious:
			worsen(Suspicious)
		case VerdictPartial:
			worsen(Partial)
		default:
			worsen(Failed)
		}
		if j.Last.Cause == BadState {
			worsen(Damaged)
		}
	} else if j.Version > 0 {
		j.Health = OK // made by get or import
	}
	if j.Refused {
		worsen(Invalid)
	}
	if (j.Progress != nil) && (len(j.Progress.Down) > 0) {
		worsen(Down)
	}
	if j.Stale {
		worsen(Stale)
	}
	j.Fix = j.fix()
}

// Worse reports whether h is worse than other.
func (h Health) Worse(other Health) bool {
	all := Healths()
	return slices.Index(all, h) > slices.Index(all, other)
}

// fix is the command that would repair the job, "" when nothing needs a repair.
func (j *Job) fix() string {
	switch {
	case j.Health == Damaged:
		return RebuildHint(j.Name) + "; then: mirrord run-now " + j.Name
	case j.Health == Suspicious && strings.Contains(j.why(), noEntry):
		return AgainHint(j.Name, j.why())
	case j.Health == Suspicious, j.Health == Partial && j.Last.Hold && j.Activity != Running:
		return AcceptHint(j.Name)
	case j.Health == Gaps:
		return GapsHint(j.Name, j.why())
	case j.Activity == NoRoom || (j.Last != nil && j.Last.Cause == DiskFull && j.Health != OK):
		return "free some space (mirrord gc), or lower limits.min_free in the job's file; the run then continues " +
			"by itself"
	case j.Health == Invalid, j.Refused && j.Health == OK:
		return "mirrord check"
	case j.Activity == Paused:
		return "mirrord resume " + j.Name
	case j.Health == OK && j.Last != nil && j.Last.Held:
		return HeldHint(j.Name)
	case j.Health == Partial && goesOn(j.Last.Cause), j.Activity == Running:
		return ""
	case j.Health == Failed, j.Health == Partial, j.Health == Stale:
		return AgainHint(j.Name, j.why())
	}
	return ""
}

// noEntry begins the reason of a run that accept cannot publish: the mirror would have no page to open.
const noEntry = "no entry point"

// why returns the reasons of the last run, and of the checks of the job.
func (j *Job) why() string {
	why := strings.Join(j.Reasons, "\n")
	if l := j.Last; l != nil && why == "" {
		why = strings.Join(append(slices.Clone(l.Reasons), l.Error), "\n")
	}
	return why
}

// NeedsEntry reports whether the reasons of a suspicious run say that accept has nothing to publish.
func NeedsEntry(reasons []string) bool {
	return slices.ContainsFunc(reasons, func(s string) bool { return strings.HasPrefix(s, noEntry) })
}

// RebuildHint is what to do about a database that cannot be used.
func RebuildHint(name string) string { return "mirrord repair --rebuild " + name }

// ForgetHint is the command that takes something out of a mirror.
func ForgetHint(name, what string) string {
	return fmt.Sprintf("mirrord forget %s %q --reason TEXT", name, what)
}

// AllowHint is what lets something be mirrored again that was forgotten: a URL or a pattern.
func AllowHint(name, what string) string {
	return fmt.Sprintf("mirrord forget %s %q --allow", name, what)
}

// AcceptHint is what to do about a run that was held back.
func AcceptHint(name string) string {
	return "look at the site, and at mirrord diff " + name + "; if it really is so: mirrord accept " + name +
		", with --keep to keep what it lost"
}

// IsStateFull reports whether the reasons of a run say that its mirror takes as much as it may.
func IsStateFull(reasons []string) bool {
	const full = "the mirror takes more than "
	return slices.ContainsFunc(reasons, func(s string) bool { return strings.HasPrefix(s, full) })
}

// HeldHint is what to do about a run that found the site as it was when its mirror was rolled back.
func HeldHint(name string) string {
	return "nothing, a changed site is published; to publish the site as it is: mirrord accept " + name
}

// cutShort is what a reason says of a document that a limit of the job cut short, before the key of that
// limit.
const cutShort = " is cut short by limits."

// CutBy returns the keys of the limits that cut documents short by the reasons of a run, separated by " and
// ".
func CutBy(why string) string {
	var keys []string
	for line := range strings.Lines(why) {
		if _, rest, ok := strings.Cut(line, cutShort); ok {
			key, _, _ := strings.Cut(rest, " ")
			keys = append(keys, "limits."+key)
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), " and ")
}

// GapsHint is the fix of a run that found newly missing resources, by its reasons.
func GapsHint(name, why string) string {
	do := "nothing, each run tries again"
	if keys := CutBy(why); keys != "" {
		do = "raise " + keys + " in the job's file"
	}
	return do + "; to accept missing resources: mirrord accept " + name
}

// goesOn reports whether a run that was ended for a cause continues by itself.
func goesOn(c Cause) bool {
	return slices.Contains([]Cause{Shutdown, OutOfHours, Killed, GaveWay, Postponed}, c)
}

// Say describes health and activity in a few words: "failed 3 times, running".
func (j *Job) Say() string {
	var b strings.Builder
	b.WriteString(Shown(string(j.Health)))
	if j.Failures > 1 && (j.Health == Failed || j.Health == Partial || j.Health == Stale) {
		fmt.Fprintf(&b, " %d times", j.Failures)
	}
	switch gaps := j.Last.GapsText(); {
	case gaps == "":
	case j.Health == OK:
		b.WriteString(" but for " + gaps)
	case j.Health == Gaps:
		b.WriteString(": " + gaps)
	}
	if j.Health == OK && j.Last != nil && j.Last.RolledBackTo > 0 && !j.Last.Undone {
		fmt.Fprintf(&b, ", rolled back to %d", j.Last.RolledBackTo)
	}
	if first := j.Last.FirstGoneText(); (first != "") && ((j.Health == OK) || (j.Health == Gaps)) {
		b.WriteString(", " + first)
	}
	waits := j.Waits
	switch j.Activity {
	case Idle, "":
		return b.String()
	case Window:
		waits = cmp.Or(waits, &Wait{For: ForWindow})
	case NoRoom:
		waits = cmp.Or(waits, &Wait{For: ForRoom})
	case Waiting:
		waits = cmp.Or(waits, &Wait{For: ForTurn})
	default:
		b.WriteString(", " + string(j.Activity))
	}
	if waits != nil {
		b.WriteString(", " + waits.Say())
	}
	return b.String()
}
