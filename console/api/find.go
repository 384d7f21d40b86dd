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

// findTexts looks for pages of mirrors in the index as it is.
func findTexts(c *call) error {
	var r search.FindRequest
	if err := ops.ReadValues(c.r.URL.Query(), &r); err != nil {
		return err
	}
	found, err := c.Texts.Find(c.r.Context(), r)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, found)
	return nil
}
