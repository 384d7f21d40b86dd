// SPDX-License-Identifier: Apache-2.0

package judge

// Dropped is the rule about files that the version to come would drop.
func (rules) Dropped() rule { return rule{at: Publishing, place: 10, judge: dropped} }

func dropped(c *Case) (r Ruling, _ error) {
	if (c.Live != nil) && !c.Accept && c.dropsTooMany(c.Lost) {
		r.suspicious("%d of %d files would be dropped, more than limits.max_delete = %v",
			c.Lost, c.Live.Files, c.Limits.MaxDelete)
	}
	return r, nil
}
