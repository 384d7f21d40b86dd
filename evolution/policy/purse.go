// SPDX-License-Identifier: Apache-2.0

package policy

// purseRuns is over how many runs a budget is averaged.
const purseRuns = 8

// Purse carries over what runs leave of their budget: a quiet run needs little, and one after a rebuild of
// the site needs all. The zero value has nothing.
type Purse struct{ saved int }

// Budget is what a run may request to which so many requests are added.
func (p *Purse) Budget(own int) int { return own + p.saved }

// Spend takes note of a run to which so many requests were added, and that made so many.
func (p *Purse) Spend(own, made int) {
	p.saved = min(max(0, p.saved+own-made), (purseRuns-1)*own)
}

// scarcity is the least price of a request when so many are left of a purse to which each run adds own. With
// those of one run left it is the default price, with those of eight a 512th of it, and it rises with the
// cube. So a site that needs less than its budget is looked at more closely with the remainder, and one that
// needs more leaves the units least likely to have changed, and has some left for the week of a rebuild.
func scarcity(own, left int) float64 {
	x := float64(own) / float64(max(1, left))
	return DefaultPrice * x * x * x
}

// timely are the chances of a unit with a budget: that it changed since the last run. What earlier runs have
// missed is late already, and a request for it finds no less in a run in which the unit changes again. While
// the hubs are silent, what may have changed with others must be worth as much more as the requests that the
// run itself adds are missed when something happens.
func timely(a *adaptive, u ID, g *group) parts {
	x := partsWith(a, u, g, false)
	x.alone = givenOf(a, u, g).now
	if left := a.Budget - a.asked; a.quiet.now {
		x.with *= scarcity(a.Own, left) / scarcity(a.Own, left-a.Own)
	}
	return x
}
