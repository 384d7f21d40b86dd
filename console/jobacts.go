// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/orders"
	"mirrord/internal/places"
	"mirrord/scheduler/status"
	"mirrord/store/disk"
)

// isUsage reports whether an error says that a request makes no sense.
func isUsage(err error) bool {
	e, is := errors.AsType[*env.Error](err)
	return is && e.Kind == env.Usage
}

// gcPage says what gc would drop and free of a mirror.
func gcPage(v *visit) error {
	s, err := care.Collectable(v.r.Context(), v.App, v.job)
	if err != nil {
		return err
	}
	return v.show("gc.html", "Prune "+v.job, s)
}

// repairData is what the page of a repair shows.
type repairData struct {
	Job     status.Job
	Problem string         // why it was not done
	Redo    bool           // the problem is that the log cannot give the database back
	Made    *care.Rebuilt  // the database, where the button for that was pressed
	Done    *care.Repaired // what was done; nil before it
}

// repairPage says what a repair does and costs, and which damage is known.
func repairPage(v *visit) error { return showRepair(v, http.StatusOK, repairData{}) }

func showRepair(v *visit, code int, d repairData) (err error) {
	if d.Job, err = v.Daemon.Job(v.job); err != nil {
		return err
	}
	return v.draw(code, "repair.html", "Repair "+v.job, d)
}

// repairMirror repairs a mirror, whether or not the browser waits, and shows what was done. Only a button of
// that page lets it lose something: lost files, or what only the database has.
func repairMirror(v *visit) error {
	ctx := context.WithoutCancel(v.r.Context())
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(actFor)) // where there is one
	a, also := act{what: v.op.Act(), job: v.job}, v.r.PostFormValue("also")
	var d repairData
	var err error
	if also == "rebuild" {
		a.about = "database from the published version"
		d.Made, err = care.Rebuild(ctx, v.App, v.job)
	}
	if also == "lost" {
		a.about = "lost files removed"
	}
	if err == nil {
		d.Done, err = care.Mend(ctx, v.App, v.job, also == "lost")
	}
	v.audit(v.r, v.who, a, err)
	v.fresh.drop()
	d.Redo = errors.Is(err, disk.ErrDamaged) && also != "rebuild"
	if d.Redo || errors.Is(err, care.ErrNothingLeft) {
		d.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		return showRepair(v, http.StatusConflict, d)
	}
	if err != nil {
		return err
	}
	return showRepair(v, http.StatusOK, d)
}

// mostExports is how many exports are made for browsers at a time; who finds no place waits for exportWait.
const (
	mostExports = 2
	exportWait  = 10 * time.Second
)

var (
	errExports = errors.New("other mirrors are being exported; try again in a moment")
	errOwn     = errors.New("you are downloading a mirror; one at a time")
)

// exportJob sends the published version, or an older one, in a form. The response breaks off at an
// error, so that no client treats it as whole.
func exportJob(v *visit) error {
	form := v.r.FormValue("format")
	if !slices.Contains(orders.Forms(), form) {
		return env.Usagef("format: %q is not one of %s", access.Clip(form), env.Joined(orders.Forms(), "and"))
	}
	number, err := v.number("version")
	if err != nil {
		return err
	}
	place, err := v.exports.Take(v.r.Context(), v.who.Name)
	switch {
	case errors.Is(err, places.ErrOwn):
		return errOwn
	case err != nil:
		return errExports
	}
	defer place.Release()
	name := v.job
	if number > 0 {
		name += fmt.Sprintf("-v%d", number)
	}
	file := name + "." + form
	out := &sent{ResponseWriter: v.w, name: file}
	begun, err := place.Send(v.r.Context(), out, func(w io.Writer) error {
		_, err := archives.Export(v.r.Context(), v.App, archives.ExportRequest{
			Job:     v.job,
			Out:     "-",
			Stream:  w,
			Format:  form,
			Version: number,
		})
		return err
	})
	v.audit(v.r, v.who, act{what: "export", job: v.job, about: file}, err)
	if err != nil && begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// sent is an answer that gets its head with its first bytes.
type sent struct {
	http.ResponseWriter
	name  string
	begun bool
}

func (s *sent) Write(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		h := s.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", `attachment; filename="`+strings.ReplaceAll(s.name, `"`, "")+`"`)
	}
	return s.ResponseWriter.Write(p)
}

// Unwrap lets deadlines be set.
func (s *sent) Unwrap() http.ResponseWriter { return s.ResponseWriter }
