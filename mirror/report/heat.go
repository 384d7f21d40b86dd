// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"strings"

	"mirrord/evolution"
)

// ErrNoDir says that a mirror never had a directory.
var ErrNoDir = errors.New("there was never such a directory")

// HeatReport is a heat map of a site: which directories changed how much, from run to run.
type HeatReport struct {
	Job string
	Top string // path of the directory that it is of; "" is the root
	*evolution.HeatMap
	Rules map[string]SiteRule // of the directories shown, by path
}

// HeatMap makes the heat map of a directory, given by its path, of the last steps; all says that all
// directories below it have rows. The site must have been retrieved.
func (v *View) HeatMap(path string, all bool, most int) (*HeatReport, error) {
	h, err := v.shownHistory()
	if err != nil {
		return nil, err
	}
	out := &HeatReport{
		Job:   v.Site.Name,
		Top:   strings.Trim(path, "/"),
		Rules: map[string]SiteRule{},
	}
	top, ok := h.Dirs().Lookup(out.Top)
	if !ok {
		return nil, fmt.Errorf("heat map of %s: %w: /%s/", v.Site.Name, ErrNoDir, out.Top)
	}
	out.HeatMap = h.HeatMap(evolution.HeatOptions{
		Top:    top,
		All:    all,
		Most:   most,
		Audits: h.Audits,
	})
	rules, err := v.Rules(false)
	if err != nil {
		return nil, err
	}
	for _, r := range rules.Rules {
		out.Rules[strings.Trim(r.Directory, "/")] = r
	}
	return out, nil
}
