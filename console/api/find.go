// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"mirrord/app/ops"
	"mirrord/app/search"
)

// TextFinder finds texts of mirrors. *daemon.KeptIndex has it.
type TextFinder interface {
	Find(ctx context.Context, r search.FindRequest) (*search.FoundTexts, error)
}

// findQuery asks for pages.
type findQuery struct {
	Words string `json:"q"`               // words; docs/find.md says what they mean
	Job   string `json:"job,omitempty"`   // only in this mirror
	At    string `json:"at,omitempty"`    // a version of the job, or a day or time: as it was then
	Under string `json:"under,omitempty"` // only in this copy of a collection: the beginning of URLs, without a scheme
	Each  bool   `json:"each,omitempty"`  // each page is a result, also those of collections
	// results; at most 100 come
	Limit int `json:"limit,omitempty" bounds:"0,1000,10"`
	Skip  int `json:"skip,omitempty" bounds:"0,1000,0"` // results that were seen
}

// findTexts looks for pages of mirrors in the index as it is.
func findTexts(c *call) error {
	var q findQuery
	if err := ops.ReadValues(c.r.URL.Query(), &q); err != nil {
		return err
	}
	r := search.FindRequest{
		Words: q.Words,
		Job:   q.Job,
		At:    q.At,
		Under: q.Under,
		Each:  q.Each,
		Limit: q.Limit,
		Skip:  q.Skip,
	}
	found, err := c.Texts.Find(c.r.Context(), r)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, found)
	return nil
}
