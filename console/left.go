// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"

	"mirrord/app/daemon"
	"mirrord/app/look"
	"mirrord/scheduler/control"
)

// leftData is what the page of a mirror without a job shows.
type leftData struct {
	Job   string
	About daemon.MirrorTitle
	At    string // where it is served; ""
	Jobs  string // directory of the job files
}

// ofJob is a page about a job. For a mirror that stayed when its job file was removed it is one that says so.
func ofJob(page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		_, err := v.Daemon.Progress(v.job)
		if err == nil || v.App == nil || !errors.Is(err, control.ErrNotFound) {
			return page(v)
		}
		if _, verr := look.Versions(v.App, v.job); verr != nil {
			return err
		}
		titles := v.Daemon.Titles([]string{v.job})
		return v.show("left.html", v.job, leftData{
			Job:   v.job,
			About: titles[v.job],
			At:    v.served(v.job, titles),
			Jobs:  v.App.Jobs,
		})
	}
}
