// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"mirrord/app"
	"mirrord/app/access"
)

// equivalentsData is what the page of places shows that have what a mirror has.
type equivalentsData struct {
	Job string
	All []app.RegistryEquivalent
}

// registerFor is how long the test of a place may take.
const registerFor = 20 * time.Minute

// equivalentsPage lists the places of the registry, and has the form that registers another one.
func equivalentsPage(v *visit) error {
	m, err := app.EquivalentsOf(v.o.App, v.job)
	if err != nil {
		return err
	}
	d := equivalentsData{Job: v.job, All: m.Equivalents}
	return v.draw(http.StatusOK, "equivalents.html", "Equivalents of "+v.job, d)
}

// registerPlace tests a place, and keeps it in the registry when it has the same.
func registerPlace(v *visit) error {
	at := strings.TrimSpace(v.r.FormValue("at"))
	err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(registerFor))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err = v.o.Daemon.Register(v.r.Context(), v.job, at)
	return v.done(act{about: access.Clip(at)}, err, jobPath(v.job, "equivalents"))
}
