// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"errors"

	"mirrord/mirror/result"
	"mirrord/store/disk"
)

// Ended is the rule about retrieval that ended early.
func (rules) Ended() rule { return rule{at: Retrieved, place: 10, judge: ended} }

func ended(c *Case) (r Ruling, _ error) {
	var limit result.LimitError
	var disk *disk.DiskError
	switch {
	case c.Ended == nil:
	case errors.As(c.Ended, &limit):
		r.partial("%s", limit.What)
	case errors.As(c.Ended, &disk):
		r.partial("%v", disk)
	case errors.Is(c.Ended, result.ErrInterrupted):
		r.partial("interrupted; run again to continue")
	default:
		r.partial("%v", c.Ended)
	}
	return r, nil
}
