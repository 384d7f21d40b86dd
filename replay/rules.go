// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/near"
)

// Evolution is the history of change of the first n versions: the first is the base, each later one a step in
// which everything was looked at.
func (h *History) Evolution(n int) (*evolution.History, error) {
	if n < 0 || n > len(h.Versions) {
		return nil, fmt.Errorf("history of %d versions: there are %d", n, len(h.Versions))
	}
	e := &evolution.History{}
	dirs := make([]evolution.Dir, len(h.dirs))
	here := make([]bool, len(h.pages))
	for _, v := range h.Versions[:n] {
		r := e.Record(v.Time.Unix())
		for _, c := range v.Changes {
			d := h.pages[c.Page].dir
			if dirs[d] == evolution.Root && d != Root {
				dirs[d] = r.Dir(h.dirs[d].path)
			}
			switch {
			case c.Content == Gone:
				r.Delete(dirs[d], 1)
			case here[c.Page]:
				r.Update(dirs[d], 1)
			default:
				r.Insert(dirs[d], 1)
			}
			here[c.Page] = c.Content != Gone
		}
		if err := r.Commit(); err != nil {
			return nil, fmt.Errorf("history of %s: %w", h.Site, err)
		}
	}
	return e, nil
}

// ruleBook is what near goes by in a replay: the rules of the training, as they were then.
type ruleBook struct {
	top []Dir // the skipped directories
}

func newRuleBook(h *History, o Options) (*ruleBook, error) {
	e, err := h.Evolution(o.Train)
	if err != nil {
		return nil, err
	}
	rules, err := near.Mine(e, o.Near)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	b := &ruleBook{}
	byPath := make(map[string]Dir, len(h.dirs))
	for d := range h.dirs {
		byPath[h.dirs[d].path] = Dir(d)
	}
	for d := range rules.Skips().Top() {
		b.top = append(b.top, byPath[e.Dirs().Path(d)])
	}
	return b, nil
}

// skips are the skipped directories as the policy numbers them.
func (b *ruleBook) skips(d *driver) ([]policy.Skip, error) {
	out := make([]policy.Skip, 0, len(b.top))
	for i, top := range b.top {
		p, err := d.dirOf(top)
		if err != nil {
			return nil, err
		}
		out = append(out, policy.Skip{Dir: p, Rule: i})
	}
	return out, nil
}
