// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"

	"mirrord/app/ops"
	"mirrord/scheduler/control"
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
	seen := v.r.FormValue("run")
	if err == nil && (seen == "" || seen != runID(j)) {
		err = ops.ErrChanged
	}
	if err == nil {
		_, _, err = v.Daemon.Run(v.job, control.RunRequest{Accept: true})
	}
	return v.done(act{about: "of the run that ended " + seen}, err, jobPath(v.job, ""))
}

// auditPage shows who did what.
func auditPage(v *visit) error {
	all, err := v.Daemon.Acts(v.r.Context(), auditShown)
	if err != nil {
		return err
	}
	return v.draw(http.StatusOK, "audit.html", "Audit log", all)
}
