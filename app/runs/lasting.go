// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store/disk"
)

// entries is how many URLs a run knows at most that has not come beyond its entry points.
const entries = 10

// Lasting returns what kept a run from beginning a mirror, when another run would meet the same: the entry
// point is unknown, forbidden, gone or empty. ok is false for all other runs.
func Lasting(sum *mirror.Summary) (t status.Trouble, ok bool) {
	t, ok = troubleAtStart(sum)
	return t, ok && t.Lasting
}

// troubleAtStart returns what kept a run from beginning a mirror.
func troubleAtStart(sum *mirror.Summary) (t status.Trouble, ok bool) {
	if sum == nil || sum.Verdict != mirror.Partial || sum.Version != 0 {
		return t, false
	}
	if sum.Left > entries || sum.Known > entries { // an earlier run has begun it
		return t, false
	}
	t, ok = status.TroubleOf(strings.Join(sum.Reasons, "\n"))
	if (sum.Fetched+sum.Unchanged > 0) && (t.Cause != status.EmptyEntry) {
		return t, false
	}
	return t, ok
}

// LastingSetup reports whether an error of a run says that something on this machine prevents its work
// until it is corrected.
func LastingSetup(err error) bool {
	_, setup := errors.AsType[env.SetupError](err)
	return (setup || errors.Is(err, fs.ErrPermission)) && !disk.IsFull(err)
}

// LastingOfJob is the error of a first run of a job that another run would only repeat, with the remedy; nil
// for all other runs.
func LastingOfJob(j *job.Job, name string, sum *mirror.Summary) error {
	t, ok := Lasting(sum)
	if !ok {
		return nil
	}
	what := name
	if j != nil && len(j.Seeds()) > 0 {
		what += ": " + j.Seeds()[0].String()
	}
	do := status.AgainHint(name, strings.Join(sum.Reasons, "\n")) // as status, page and mail say it
	if cause, _, _ := strings.Cut(t.Do, ": "); !strings.HasPrefix(t.What, cause) {
		do = t.What + "; " + do
	}
	return &env.Error{Whole: true, Err: fmt.Errorf("%s: %s", what, do)}
}

// lastingOfGet is LastingOfJob for a mirror without a job file. With once nothing makes another run by
// itself: a host that does not answer is an error too.
func lastingOfGet(j *job.Job, sum *mirror.Summary, once bool) error {
	t, ok := troubleAtStart(sum)
	if !ok || sum.Resumed || t.Get == "" || (!t.Lasting && !once) {
		return nil
	}
	return &env.Error{Whole: true, Err: fmt.Errorf("%s: %s; %s", j.Seeds()[0], t.What, t.Get)}
}

// leadsNear returns where the entry point of a run leads, when that is what was typed under another scheme,
// with www. or elsewhere in the same registered domain; ok is false when it leads nowhere else, or to others.
func leadsNear(j *job.Job, sum *mirror.Summary) (to site.URL, ok bool) {
	if sum == nil || sum.Verdict == mirror.Complete || len(j.Seeds()) != 1 {
		return to, false
	}
	to, _, err := site.Parse(status.LeadsTo(strings.Join(sum.Reasons, "\n")))
	from := j.Seeds()[0]
	return to, err == nil && to.RegistrableDomain() == from.RegistrableDomain()
}
