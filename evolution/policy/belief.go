// SPDX-License-Identifier: Apache-2.0

package policy

import "math"

// The chain of chances. A directory is active in a run when something changed in it or below it. Given that
// its parent is active it is with chance alpha; what was observed below it in this run gives the chance that
// it is after all (exact on a tree: Pearl 1988, chapter 4). So a run that finds its busiest pages as they
// were soon believes that nothing was published, and a hit in a silent directory opens the way to its
// neighbours, and to theirs.

const (
	// Runs of the parent's activity after which a directory's own record counts as much as the usual values
	// beside it.
	actShrink = 2
	// Share of a directory that changes when it does, before it has a record: one of it for certain, and
	// this share of the rest.
	usualShare = 0.08
	// A directory in which nothing changed in any of at least so many runs in which something did in the one
	// above it has a rule, in the words of package near: when that one changes, it does not. Then so much of a
	// change is supposed in one run more, regardless of the usual values beside it: on the recorded sites 5 of
	// 1000 runs find a change where there was none in 20.
	ruleRuns, ruleChanges = 4, 0.1
	// Units change together less strictly than the chain has it: after any result, a directory keeps this part
	// of the chance that it had before.
	doubt = 0.03
	// Units-and-runs after which the record of the units of a kind in a directory counts as much as
	// usualShare.
	shareShrink = 20
	// Changes as which it counts that all kinds of units change alike.
	kindShrink = 3
	// No chance is nearer to 1, after any time without a look: a certainty cannot be refuted by evidence,
	// and would give 0/0.
	surest = 1 - 1e-6
)

// share is how often the units of one kind in a directory changed when the directory did. With so many digits
// the order in which they are added does not show.
type share struct{ changes, looks float64 }

// mean is the share, shrunk to the usual share for so many entries.
func (s share) mean(entries int, times float64) float64 {
	return (s.changes + shareShrink*usual(entries)*times) / (s.looks + shareShrink)
}

// usual is the chance that one of so many entries changes when any does.
func usual(entries int) float64 {
	n := float64(max(entries, 1))
	return 1/n + usualShare*(1-1/n)
}

// node is a directory in this run.
type node struct {
	alpha   float64 // chance to be active when the parent is
	rate    float64 // chance to be active in a usual interval, regardless of the parent
	before  float64 // chance to be active in this run, before anything was told
	like    float64 // log of the likelihood of what was told below, if it is active
	message float64 // log of the likelihood of what was told below, if the parent is active
	act     float64 // chance to be active now
	valued  float64 // act when its groups were valued
	entries int32   // units, and directories that have some
	silent  int32   // runs without a change, of a directory that has a rule
	hit     bool    // a change was told of
}

// chain is what the model says of the directories as of now, and what was told since.
type chain struct {
	m       *Model
	gap     float64        // usual intervals since anything was observed
	times   float64        // how often the site changed in them, given that it did
	disc    []float64      // by run: the weight now of what was discounted then
	rates   [][kinds]share // by directory: how much of it changes when it does
	nodes   []node         // by directory
	listing float64        // how often a listing changes when its directory does
	kinds   [kinds]float64 // how many times as often as usual units of a kind change when their directories do
}

// newChain returns the chances of the model before any result.
func newChain(m *Model, o *Options) chain {
	c := chain{m: m, disc: make([]float64, m.runs+1)}
	c.gap = m.clock.gap(o.Now) + m.clock.at[m.runs] - m.clock.at[m.seen]
	now := m.clock.at[m.seen] + c.gap
	for r := range c.disc {
		c.disc[r] = math.Exp2((m.clock.at[r] - now) / halfLife)
	}
	c.believe()
	return c
}

// believe sets the chances of the directories.
func (c *chain) believe() {
	m := c.m
	c.nodes, c.rates = make([]node, m.Dirs()), make([][kinds]share, m.Dirs())
	for u, f := range m.flags {
		if f&present != 0 {
			d, x, e := m.dir[u], m.exposure(ID(u)), m.edits(ID(u))
			s := &c.rates[d][f&kindMask]
			s.changes += float64(e.c) * c.disc[e.at]
			s.looks += float64(x.n) * c.disc[x.last]
			c.nodes[d].entries++
		}
	}
	// The usual values of the directories directly below one.
	below := make([]share, m.Dirs())
	for d := m.Dirs() - 1; d > 0; d-- {
		if c.nodes[d].entries == 0 {
			continue
		}
		x := &m.dirs[d]
		c.nodes[x.parent].entries++
		w := c.disc[x.since]
		below[x.parent].changes += float64(x.act) * w
		below[x.parent].looks += float64(x.obs) * w
	}
	for d := range c.nodes {
		x, n := &m.dirs[d], &c.nodes[d]
		mean, up := 0.5, 1.0
		if d > 0 {
			b := below[x.parent]
			mean = (b.changes + actShrink*usual(int(c.nodes[x.parent].entries))) / (b.looks + actShrink)
			up = c.nodes[x.parent].rate
		}
		w := c.disc[x.since]
		n.alpha = min(0.999, (float64(x.act)*w+actShrink*mean)/(float64(x.obs)*w+actShrink))
		if runs := float64(x.obs) * w; d > 0 && float64(x.act)*w < ruleChanges/2 && runs >= ruleRuns {
			n.silent = int32(runs)
			n.alpha = min(n.alpha, (float64(x.act)*w+ruleChanges)/(runs+1))
		}
		n.rate = n.alpha * up
		n.before = n.alpha
		if d == int(Root) { // the only one whose chance is one in time
			n.alpha = min(surest, 1-math.Pow(1-n.alpha, c.gap))
			n.before = n.alpha
			c.times = max(1, c.gap*n.rate/n.alpha)
		} else {
			n.before *= c.nodes[x.parent].before
		}
	}
	c.listing = usualListing(c.rates)
	c.byKind()
	c.settle()
}

// byKind learns how many times as often as pages and assets together each of the two changes with its
// directory: assets hardly ever change with pages, and a directory by itself has too few of them to learn it.
func (c *chain) byKind() {
	var by [kinds]share
	var all share
	for d := range c.rates {
		w := usual(int(c.nodes[d].entries))
		for k, s := range c.rates[d][:Listing] {
			by[k].changes, by[k].looks = by[k].changes+s.changes, by[k].looks+s.looks*w
			all.changes, all.looks = all.changes+s.changes, all.looks+s.looks*w
		}
	}
	usually := (all.changes + kindShrink) / (all.looks + kindShrink)
	for k, s := range by {
		c.kinds[k] = min(1, (s.changes+kindShrink)/(s.looks+kindShrink)/usually)
	}
}

// usualListing is how often the listings of the site changed when their directories did. That of a directory
// of one page is no likelier to change than others, so the number of entries has no say.
func usualListing(rates [][kinds]share) float64 {
	var all share
	for d := range rates {
		s := rates[d][Listing]
		all.changes, all.looks = all.changes+s.changes, all.looks+s.looks
	}
	return (all.changes + shareShrink*usualShare) / (all.looks + shareShrink)
}

// usual is how often units of a group's kind in its directory change when anything in it does.
func (g *group) usual(a *adaptive) float64 {
	s := a.chain.rates[g.dir][g.kind]
	if g.kind == Listing {
		return (s.changes + shareShrink*a.chain.listing) / (s.looks + shareShrink)
	}
	return s.mean(int(a.chain.nodes[g.dir].entries), a.chain.kinds[g.kind])
}

// settle computes how active every directory is.
func (c *chain) settle() {
	for d := range c.nodes {
		c.activity(Dir(d))
	}
}

func (c *chain) activity(d Dir) {
	n := &c.nodes[d]
	up := 1.0
	if d != Root {
		up = c.nodes[c.m.dirs[d].parent].act
	}
	if n.hit {
		n.act = up
		return
	}
	l := math.Exp(n.like)
	n.act = max(up*n.alpha*l/(1-n.alpha+n.alpha*l), doubt*n.before)
}

// evidence passes what was told of a unit, as a log likelihood if its directory is active, up to the root,
// and what follows from it down to the directory.
func (c *chain) evidence(d Dir, l float64, hit bool) {
	for at := d; ; at = c.m.dirs[at].parent {
		n := &c.nodes[at]
		n.like, n.hit = n.like+l, n.hit || hit
		was := n.message
		if n.hit {
			n.message = math.Log(n.alpha) + n.like
		} else {
			n.message = math.Log(1 - n.alpha + n.alpha*math.Exp(n.like))
		}
		if l = n.message - was; at == Root {
			break
		}
	}
	c.down(d)
}

func (c *chain) down(d Dir) {
	if d != Root {
		c.down(c.m.dirs[d].parent)
	}
	c.activity(d)
}
