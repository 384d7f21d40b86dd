// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"time"

	"mirrord/app/replicas"
)

// equivalentsData is what the page of places shows that have what a mirror has.
type equivalentsData struct {
	Job string
	All []replicas.RegistryEquivalent
}

// actFor is how long an operation may take, such as the test of a place.
const actFor = 20 * time.Minute

// equivalentsPage lists the places of the registry, and has the form that registers another one.
func equivalentsPage(v *visit) error {
	m, err := replicas.EquivalentsOf(v.App, v.job)
	if err != nil {
		return err
	}
	d := equivalentsData{Job: v.job, All: m.Equivalents}
	return v.draw(http.StatusOK, "equivalents.html", "Mirror URLs of "+v.job, d)
}
