// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"slices"
	"time"

	"mirrord/mirror/result"
)

// CutsFact is the name of the fact of a site under which the documents are kept that limits cut short.
const CutsFact = "cuts"

// Cuts are the documents of a site that limits cut short, each with one limit, in the order of their URLs.
type Cuts []CutDoc

// CutDoc is one document, or robots.txt, and one limit that cut it short.
type CutDoc struct {
	URL      string     `json:"url"`
	By       result.Cut `json:"by"` // one limit
	Since    int64      `json:"since"`
	Run      int        `json:"run"`  // the last run that counted it
	Runs     int        `json:"runs"` // that found it cut, in a row
	Accepted bool       `json:"accepted,omitempty"`
}

// Of returns the limits that cut the document with an address short.
func (c Cuts) Of(url string) (by result.Cut) {
	for i := range c {
		if c[i].URL == url {
			by |= c[i].By
		}
	}
	return by
}

// Robots returns the cuts of the robots.txt of origins that a run did not read.
func (c Cuts) Robots(read map[string]result.Cut) map[string]result.Cut {
	out := map[string]result.Cut{}
	for i := range c {
		if origin, ok := originOf(c[i].URL); ok {
			if _, now := read[origin]; !now {
				out[c[i].URL] |= c[i].By
			}
		}
	}
	return out
}

// Next returns the cuts of a run: those that it found, by URL, with their earlier records. accept
// makes all of them known.
func (c Cuts) Next(found map[string]result.Cut, run int, now time.Time, accept bool) (next Cuts) {
	type cut struct {
		url string
		by  result.Cut
	}
	before := make(map[cut]CutDoc, len(c))
	for _, d := range c {
		before[cut{d.URL, d.By}] = d
	}
	for url, limits := range found {
		for by := range limits.All {
			d, was := before[cut{url, by}]
			if !was {
				d = CutDoc{URL: url, By: by, Since: now.Unix()}
			}
			if d.Run != run {
				d.Run, d.Runs = run, d.Runs+1
			}
			d.Accepted = d.Accepted || accept
			next = append(next, d)
		}
	}
	slices.SortFunc(next, func(a, b CutDoc) int { return compareCuts(&a, &b) })
	return next
}
