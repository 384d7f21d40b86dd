// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"strings"

	"mirrord/scheduler/control"
)

// errChanged says that a form is about something that is not so any more.
var errChanged = errors.New("it has changed since this page was shown; look at it again")

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
		about = append(about, "outside of its window too")
	}
	_, attached, err := v.o.Daemon.Run(v.job, req)
	to := "run"
	if attached {
		to = "going"
	}
	return v.done(act{what: "run", about: strings.Join(about, ", ")}, err, jobPath(v.job, "")+"?said="+to)
}

// acceptHeld publishes what a run held back, or makes its gaps known: that of the run that the page showed.
func acceptHeld(v *visit) error {
	j, err := v.o.Daemon.Progress(v.job)
	seen := v.r.FormValue("run")
	if err == nil && (seen == "" || seen != runID(j)) {
		err = errChanged
	}
	if err == nil {
		_, _, err = v.o.Daemon.Run(v.job, control.RunRequest{Accept: true})
	}
	return v.done(act{what: "accept", about: "of the run that ended " + seen}, err,
		jobPath(v.job, "")+"?said=accept")
}

func cancelRun(v *visit) error { return v.command("cancel", v.o.Daemon.Cancel) }
func pauseJob(v *visit) error  { return v.command("pause", v.o.Daemon.Pause) }
func resumeJob(v *visit) error { return v.command("resume", v.o.Daemon.Resume) }

// command does what needs no more than the name of the job.
func (v *visit) command(what string, do func(string) error) error {
	return v.done(act{what: what}, do(v.job), jobPath(v.job, "")+"?said="+what)
}

// auditPage shows who did what.
func auditPage(v *visit) error {
	all, err := v.o.Daemon.Acts(v.r.Context(), auditShown)
	if err != nil {
		return err
	}
	return v.draw(http.StatusOK, "audit.html", "Audit log", all)
}
