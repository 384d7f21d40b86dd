// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"slices"
	"time"

	"mirrord/site"
)

// CapturedAnswer is one answer of a URL in an archive.
type CapturedAnswer struct {
	At      time.Time `json:"at"`
	Crawl   int       `json:"crawl"`             // from 1
	Status  int       `json:"status,omitempty"`  // 0 for a revisit without a head
	Revisit bool      `json:"revisit,omitempty"` // the body is that of another record
	File    string    `json:"file"`
	Offset  int64     `json:"offset"` // of the record in the file, or of the compressed member that it is
}

// List returns all answers of a URL, the oldest first.
func (a *Recordings) List(u site.URL) (all []CapturedAnswer) {
	id, ok := a.names.find(u)
	if !ok {
		return nil
	}
	for _, i := range a.of(id) {
		c := &a.captures[i]
		all = append(all, CapturedAnswer{
			At:      time.Unix(c.date, 0).UTC(),
			Crawl:   a.crawlOf(c) + 1,
			Status:  int(c.status),
			Revisit: c.kind == revisit,
			File:    a.files[c.file].name,
			Offset:  c.at,
		})
	}
	return all
}

// crawlOf is the crawl of a capture, by its place in Crawls: in an archive of mirrord the first version that
// was complete after it.
func (a *Recordings) crawlOf(c *capture) int {
	if a.windows == nil {
		return int(c.crawl)
	}
	k, _ := slices.BinarySearch(a.windows, c.date)
	return min(k, len(a.windows)-1)
}
