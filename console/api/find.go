// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"mirrord/app"
	"mirrord/scheduler/control"
)

// TextFinder finds texts of mirrors. *app.KeptIndex has it.
type TextFinder interface {
	Find(ctx context.Context, r app.FindRequest) (*app.FoundTexts, error)
}

// findTexts looks for pages of mirrors in the index as it is.
func findTexts(c *call) error {
	q := c.r.URL.Query()
	r := app.FindRequest{
		Words: q.Get("q"),
		Job:   q.Get("job"),
		At:    q.Get("at"),
		Under: q.Get("under"),
		Each:  q.Has("each"),
	}
	for name, into := range map[string]*int{"limit": &r.Limit, "skip": &r.Skip} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > mostPage {
			return fmt.Errorf("%w: %s is a number from 0 to %d", control.ErrInvalid, name, mostPage)
		}
		*into = n
	}
	found, err := c.o.Texts.Find(c.r.Context(), r)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, found)
	return nil
}
