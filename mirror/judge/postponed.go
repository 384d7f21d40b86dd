// SPDX-License-Identifier: Apache-2.0

package judge

// Postponed is the rule about hosts of entry points that are left for the next run.
func (rules) Postponed() rule { return rule{at: Retrieved, place: 20, judge: postponed} }

func postponed(c *Case) (r Ruling, _ error) {
	if (c.Ended != nil) || (c.Left == 0) {
		return r, nil
	}
	for _, p := range c.Postponed {
		r.partial("%s was left for the next run: %s", p.Host, p.Reason)
	}
	return r, nil
}
