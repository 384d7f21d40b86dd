// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
)

// Definition is what the program knows of a policy: its name, what it can do, and how to begin a run. Callers
// ask for the capabilities and never compare names, so that a policy is added by a package of its own and a
// line in package known.
type Definition struct {
	Name Name
	Doc  string // what it requests, as the reference of the job file says it after the name

	// Everything says that without a budget every unit is requested: such a run needs no plan.
	Everything bool

	// Listings says that the plan decides on listings (Plan.NextListings): they are units of the kind Listing,
	// and Model.Vouch tells what they show.
	Listings bool

	// Rules says that it follows Options.Skips, which the caller mines, and Expired, Every and Audits.
	Rules bool

	// Weighs says that it follows Options.Price and Options.MaxSkip for units that are not under a rule.
	Weighs bool

	// Begin begins a run over a model in which something was observed. The options are complete and valid.
	Begin func(m *Model, o Options) Plan
}

// PolicyRegistry holds policies in the order in which they are shown. It is not changed after it was
// made, so it is safe for concurrent use.
type PolicyRegistry []Definition

// Standard returns the policies of this package.
func Standard() PolicyRegistry {
	return PolicyRegistry{
		{
			Name:       Full,
			Doc:        "all of them",
			Everything: true,
			Begin:      func(m *Model, o Options) Plan { return newFull(m, o) },
		},
		{
			Name:  Near,
			Doc:   "all but those in directories that rules mined from the history skip; see near",
			Rules: true,
			Begin: func(m *Model, o Options) Plan { return newNear(m, o) },
		},
		{
			Name:     Adaptive,
			Doc:      "those whose expected changes are worth a request; see adaptive.price",
			Listings: true,
			Weighs:   true,
			Begin:    func(m *Model, o Options) Plan { return newAdaptive(m, o) },
		},
	}
}

// Find returns the policy of a name.
func (r PolicyRegistry) Find(n Name) (Definition, bool) {
	for _, p := range r {
		if p.Name == n {
			return p, true
		}
	}
	return Definition{}, false
}

// Names returns the names in order.
func (r PolicyRegistry) Names() []string {
	names := make([]string, len(r))
	for i, p := range r {
		names[i] = string(p.Name)
	}
	return names
}

// That returns the names of the policies that have a capability.
func (r PolicyRegistry) That(can func(Definition) bool) (names []string) {
	for _, p := range r {
		if can(p) {
			names = append(names, string(p.Name))
		}
	}
	return names
}

// Plan begins a run under the policy that o names. Nothing observed so far makes every policy behave as full.
func (r PolicyRegistry) Plan(m *Model, o Options) (Plan, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	p, ok := r.Find(o.Policy)
	if !ok {
		return nil, fmt.Errorf("plan: unknown policy %q: want one of %s", o.Policy, strings.Join(r.Names(), ", "))
	}
	for _, s := range o.Skips {
		if int(s.Dir) >= len(m.dirs) {
			return nil, fmt.Errorf("plan: skipped directory %d of %d: no such directory", s.Dir, len(m.dirs))
		}
	}
	if m.seen == 0 { // nothing was ever observed
		return newFull(m, o), nil
	}
	return p.Begin(m, o), nil
}
