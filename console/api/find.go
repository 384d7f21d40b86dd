// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"mirrord/app/search"
)

// TextFinder finds texts of mirrors. *daemon.KeptIndex has it.
type TextFinder interface {
	Find(ctx context.Context, r search.FindRequest) (*search.FoundTexts, error)
}

// findTexts looks for pages of mirrors in the index as it is.
func findTexts(c *call, r search.FindRequest) (any, error) { return c.Texts.Find(c.r.Context(), r) }
