// SPDX-License-Identifier: Apache-2.0

package verdict

// NoEntry is the rule about a mirror that would have no page to open.
func (rules) NoEntry() rule { return rule{at: Building, place: 10, judge: noEntryPoint} }

const noEntry = "no entry point is in the mirror, and no version is published without one"

func noEntryPoint(c *Case) (r Ruling, _ error) {
	if _, ok := c.Table.Entry(c.Seeds); ok {
		return r, nil
	}
	if c.Live == nil {
		r.partial("nothing to publish: %s", noEntry)
	} else {
		r.suspicious("%s", noEntry)
	}
	return r, nil
}
