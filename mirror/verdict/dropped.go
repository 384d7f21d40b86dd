// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"mirrord/internal/count"
	"mirrord/site"
)

// Dropped is the rule about files that the version to come would drop. It counts neither files that the new
// rules of a job refuse nor files that changed their type or extension.
func (rules) Dropped() rule { return rule{at: Publishing, place: 10, judge: dropped} }

const jobChanged = "%s left because the job changed: its new rules refuse them, " +
	"or every page that linked to them"

func dropped(c *Case) (r Ruling, _ error) {
	if c.Live == nil {
		return r, nil
	}
	l, err := c.leaving(c.Lost.IDs)
	if err != nil {
		return r, err
	}
	if l.refused > 0 {
		r.note(fmt.Sprintf(jobChanged, count.Of(l.refused, "file")), site.URL{})
	}
	if n := l.lost + c.Lost.Unknown; !c.Accept && c.dropsTooMany(n) {
		r.suspicious("%d of %d files would be dropped, more than limits.max_delete = %v",
			n, c.Live.Files, c.Limits.MaxDelete)
		r.Dropped = c.Lost.IDs
	}
	return r, nil
}
