// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"

	"mirrord/site"
)

// AlternatesUse says what alternates are used for.
type AlternatesUse string

// The uses of alternates.
const (
	AlternatesFallback AlternatesUse = "fallback" // when the origin fails
	AlternatesSpread   AlternatesUse = "spread"   // also while it is well
)

// maxAlternates bounds from how many replicas one URL is requested.
const maxAlternates = 20

func checkAlternates(j *Job) error {
	if len(j.Alternates) > maxAlternates {
		return problemf("", "%d alternates are given; at most %d are allowed", len(j.Alternates), maxAlternates)
	}
	for _, raw := range j.Alternates {
		if err := checkURL(raw); err != nil {
			return err
		}
		if err := checkDirectory(raw); err != nil {
			return err
		}
		u, _, err := site.Parse(strings.TrimSpace(raw))
		if err != nil {
			return err
		}
		for _, s := range j.Seeds() {
			if s.Hostname() == u.Hostname() {
				return problemf("when a host is down, so is all that lies on it",
					"the alternate %s is on a host of url", raw)
			}
		}
	}
	return nil
}

// AlternateURLs returns the base URLs of the site's replicas.
func (j *Job) AlternateURLs() []site.URL {
	out := make([]site.URL, 0, len(j.Alternates))
	for _, raw := range j.Alternates {
		if u, _, err := site.Parse(strings.TrimSpace(raw)); err == nil {
			out = append(out, u)
		}
	}
	return out
}

// Base returns the URL of the directory of the first entry point, which alternates replicate, with a slash at
// its end; "" without an entry point.
func (j *Job) Base() string {
	seeds := j.Seeds()
	if len(seeds) == 0 {
		return ""
	}
	path := seeds[0].Path()
	return seeds[0].Origin() + path[:strings.LastIndexByte(path, '/')+1]
}
