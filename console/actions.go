// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/ops"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/site"
)

// auditShown is how many entries of the audit log are shown.
const auditShown = 200

// runJob requests a run.
func runJob(v *visit) error {
	req := control.RunRequest{Full: v.r.FormValue("full") != "", Now: v.r.FormValue("now") != ""}
	var about []string
	if req.Full {
		about = append(about, "full")
	}
	if req.Now {
		about = append(about, "ignoring the time window")
	}
	if dir := v.r.FormValue("check"); dir != "" { // a directory that this run is not to skip
		j, err := v.App.FindJob(v.job)
		if err != nil {
			return err
		}
		one := job.PriorityRule{Match: []string{"/" + site.QuoteGlob(dir) + "/**"}, Every: 1}
		req.Set = []string{"priority=" + job.EncodePriorities(append(slices.Clone(j.Priority), one))}
		about = append(about, "not skipping "+dir+"/")
	}
	_, attached, err := v.Daemon.Run(v.job, req)
	to := jobPath(v.job, "")
	if attached {
		to += "?said=going"
	}
	return v.done(act{about: strings.Join(about, ", ")}, err, to)
}

// acceptHeld publishes what a run held back, or makes its gaps known: that of the run that the page showed.
func acceptHeld(v *visit) error {
	j, err := v.Daemon.Progress(v.job)
	seen, keep := v.r.FormValue("run"), v.r.FormValue("keep") != ""
	if err == nil && (seen == "" || seen != runID(j)) {
		err = ops.ErrChanged
	}
	if err == nil {
		_, _, err = v.Daemon.Run(v.job, control.RunRequest{Accept: true, Keep: keep})
	}
	about := "of the run that ended " + seen
	if keep {
		about += ", keeping what the site no longer has"
	}
	return v.done(act{about: about}, err, jobPath(v.job, ""))
}

// auditPage shows who did what.
func auditPage(v *visit) error {
	all, err := v.Daemon.Acts(v.r.Context(), auditShown)
	if err != nil {
		return err
	}
	return v.show("audit.html", "Audit log", all)
}

// chosenJob is a mirror of several that were selected in the list.
type chosenJob struct {
	Job     string
	Plan    []string // what deleting it deletes
	Tag     string   // of the job file that the plan is about
	Problem string   // why it cannot be done
}

// chosenData is what the page of several mirrors shows.
type chosenData struct {
	Deletes bool // else they are to be downloaded
	Rows    []chosenJob
}

// chosen does something with the mirrors that were selected in the list. What deletes shows first what, and
// asks; a mirror that cannot be changed keeps none of the others from it.
func chosen(v *visit) error {
	names := slices.Compact(slices.Sorted(slices.Values(v.r.PostForm["job"])))
	names = slices.DeleteFunc(names, func(name string) bool { return !job.ValidName(name) })
	if len(names) == 0 {
		return env.Usagef("no mirror is selected; go back and select some")
	}
	switch do := v.r.PostFormValue("do"); do {
	case "run", "pause", "resume":
		return eachChosen(v, ops.Named(do), names, func(of *visit) error {
			if do == "run" {
				_, _, err := v.Daemon.Run(of.job, control.RunRequest{})
				return err
			}
			_, err := of.op.Do(of.r.Context(), of.act(), of.op.In())
			return err
		})
	case "export":
		d := chosenData{}
		for _, name := range names {
			row := chosenJob{Job: name}
			if j, err := v.Daemon.Job(name); err != nil || j.Version == 0 {
				row.Problem = "no version yet"
			}
			d.Rows = append(d.Rows, row)
		}
		return v.show("chosen.html", "Download", d)
	case "remove":
		d := chosenData{Deletes: true}
		for _, name := range names {
			d.Rows = append(d.Rows, removal(visitOf(v, name, ops.Named("removeJob"))))
		}
		return v.show("chosen.html", "Delete mirrors", d)
	case "removeAll":
		return eachChosen(v, ops.Named("removeJob"), names, removePlanned)
	}
	return env.Usagef("there is no button of that name")
}

// visitOf is the visit as one of a mirror that was selected.
func visitOf(v *visit, name string, op ops.Operation) *visit {
	out := *v
	out.job, out.op = name, op
	return &out
}

// eachChosen does an operation with each mirror, and returns to the list. Errors name their mirrors.
func eachChosen(v *visit, op ops.Operation, names []string, do func(*visit) error) error {
	var errs []error
	for _, name := range names {
		of := visitOf(v, name, op)
		err := do(of)
		v.audit(v.r, v.who, act{what: op.Act(), job: name}, err)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	v.fresh.drop()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	to := url.Values{"said": {op.Name}}
	for _, key := range []string{"by", "state", "q", "page"} { // the list as it was
		if value := v.r.PostFormValue(key); value != "" {
			to.Set(key, value)
		}
	}
	http.Redirect(v.w, v.r, "/?"+to.Encode(), http.StatusSeeOther)
	return nil
}

// removal says what deleting a job would delete.
func removal(v *visit) chosenJob {
	c := chosenJob{Job: v.job}
	var err error
	if c.Plan, c.Tag, err = v.planned(v.op.In()); err != nil {
		c.Problem = env.Remedied(err)
	}
	return c
}

// removePlanned deletes a job whose file is still the one that the plan was about.
func removePlanned(v *visit) error {
	if err := v.asPlanned(v.r.PostFormValue("tag." + v.job)); err != nil {
		return err
	}
	_, err := v.op.Do(v.r.Context(), v.act(), v.op.In())
	return err
}
