// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"strings"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/near"
	"mirrord/site"
)

// MinedRules are the rules mined from a site's history, and what they skip.
type MinedRules struct {
	History *DirHistory
	Rules   *near.RuleSet
	Skips   []policy.Skip // the topmost directories that have a rule

	// Estimates are what the figures of the rules are by what the looks of all runs say; nil without.
	Estimates *evolution.Estimates

	mined []near.Rule // by Skip.Rule
}

// ruleAudits is how many resources of each skipped directory a run requests all the same. One that changed
// ends the skipping of the directory.
const ruleAudits = 2

// leastSteps is in how many runs a directory and those above it must have been observed before a rule counts.
const leastSteps = 5

// ruleOptions are the thresholds of a job.
func ruleOptions(n job.Near) near.Options {
	return near.Options{
		MinDoC:        float64(n.MinDoC),
		MinFoC:        float64(n.MinFoC),
		MinCoC:        float64(n.MinCoC),
		MinConfidence: float64(n.MinConfidence),
		MinSteps:      leastSteps,
		Expire:        int(n.Expire),
	}
}

// Rules mines rules from the history of the directories: from the runs in which it is known whether they
// changed or, sampled, from what the looks of all runs make likely, with its interval. Under a policy that
// follows no rules hardly any run looks at all of a directory. Where a sample takes too much it is not made.
// dirs has those of the URLs afterwards.
func (k KnownSite) Rules(dirs *DirTable, n job.Near, sampled bool) (*MinedRules, error) {
	h, err := k.History(dirs)
	if err != nil {
		return nil, err
	}
	o := ruleOptions(n)
	m := &MinedRules{History: h}
	if sampled {
		looks, err := k.Looks(h)
		if err != nil {
			return nil, err
		}
		if looks != nil {
			m.Estimates = looks.Estimate(h.Dirs(), o.MinDoC, false)
		}
	}
	if m.Estimates != nil {
		m.Rules, err = near.MineSampled(m.Estimates, h.Dirs(), o)
	} else {
		m.Rules, err = near.Mine(h.History, o)
	}
	if err != nil {
		return nil, fmt.Errorf("rules of %s: %w", k.Name, err)
	}
	for d := range m.Rules.Skips().Top() {
		rule, ok := m.Rules.For(d)
		n, known := dirs.num[h.Dirs().Path(d)]
		if ok && known {
			m.Skips = append(m.Skips, policy.Skip{Dir: n, Rule: len(m.mined)})
			m.mined = append(m.mined, rule)
		}
	}
	return m, nil
}

// Text is a rule in words, by its Skip.Rule; "" without one.
func (m *MinedRules) Text(n int) string {
	if n < 0 || n >= len(m.mined) {
		return ""
	}
	d := m.History.Dirs()
	return m.mined[n].Text(d) + " (" + m.mined[n].Why(d) + ")"
}

// Over returns the number of the rule that skips the directory of a URL, -1 when none does.
func (m *MinedRules) Over(u site.URL) int {
	t := m.History.dirs
	path := dirPath(u, t.primary)
	for _, x := range m.Skips {
		if top := t.path[x.Dir]; path == top || strings.HasPrefix(path, top+"/") {
			return x.Rule
		}
	}
	return -1
}
