// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/near"
)

// Options say how a history is replayed. The zero value replays the default policy after 20 full syncs.
type Options struct {
	Policy policy.Name // default adaptive; Nothing and Never are baselines

	Policies policy.PolicyRegistry // where the policy is found; default known.All()

	Train int // full syncs before the first measured step; default 20

	Price   float64 // of a request, in changed pages; for adaptive. Default policy.DefaultPrice
	PriceMB float64 // of a megabyte that answers transfer, on top; for adaptive
	// share of the known pages that a step may request, in the mean of 8 steps; 0: no bound. New pages of a
	// listing are fetched all the same
	Budget float64
	// requests that a step may make in the mean of 8 steps, as limits.max_requests of a job; 0: no bound
	MaxRequests int
	// how late changes may be found, in the mean, as adaptive.late of a job; 0: no goal
	Late    time.Duration
	MaxSkip int // no unit stays unobserved for more steps in a row; 0: no bound
	// no unit that was last observed so long ago is skipped; 0: no bound
	MaxAge time.Duration

	Near   near.Options // for near, with From and To as they are; default near.Third
	Expire int          // for near: in every Expire-th step skipped directories are requested as well; 0: never

	// for near: rules are mined before each step from what was observed, as a job does, and skips are audited;
	// else they are those of the training
	Relearn bool

	// Batch is how many units the policy has handed out at most before it gets their results; default 1.
	// More are handed out in two halves, of which a job has both under way: twice as many as it has connections,
	// and 4 at least.
	Batch int

	// Baseline makes, for a history, the Actor used instead of a policy. Policy is only its name then.
	Baseline func(h *History) Actor

	Order uint32 // draws another order of units that nothing else distinguishes; for measuring

	// After is called after each measured step, before the next one.
	After func(w *World)
}

// Baselines that are no policies of the program: what others are held against.
const (
	Nothing policy.Name = "nothing" // asks for nothing
	// asks in every directory but those of which nothing directly in them changed in training
	Never policy.Name = "never"
)

// DefaultTrain is how many full syncs a replay begins with.
const DefaultTrain = 20

const defaultBatch = 1

// ErrTooShort says that a history has no version left after the training.
var ErrTooShort = errors.New("nothing is left to replay")

func (o Options) withDefaults() (Options, error) {
	if o.Policy == "" {
		o.Policy = policy.Adaptive
	}
	if o.Policies == nil {
		o.Policies = known.All()
	}
	if o.Train == 0 {
		o.Train = DefaultTrain
	}
	if o.Batch == 0 {
		o.Batch = defaultBatch
	}
	if o.Near == (near.Options{}) {
		o.Near = near.Third()
	}
	switch {
	case o.Train < 1:
		return o, fmt.Errorf("replay: %d full syncs: want at least 1", o.Train)
	case math.IsNaN(o.Budget) || o.Budget < 0 || o.Budget > 1:
		return o, fmt.Errorf("replay: budget %v: want a share of a full sync, above 0 and at most 1", o.Budget)
	case o.Batch < 0:
		return o, fmt.Errorf("replay: batches of %d: want at least 1", o.Batch)
	case o.Expire < 0:
		return o, fmt.Errorf("replay: skips that expire in every %d. step: want 0 (never) or more", o.Expire)
	case o.MaxSkip < 0:
		return o, fmt.Errorf("replay: max_skip of %d: want 0 (no bound) or more", o.MaxSkip)
	}
	if err := o.Near.Validate(); err != nil {
		return o, fmt.Errorf("replay: %w", err)
	}
	return o, nil
}

// Actor acts in a world: one call for each measured step, after the site has moved on.
type Actor func(w *World) error

func newActor(h *History, o Options) (Actor, error) {
	p, known := o.Policies.Find(o.Policy)
	switch {
	case o.Baseline != nil:
		return o.Baseline(h), nil
	case o.Policy == Nothing:
		return func(*World) error { return nil }, nil
	case o.Policy == Never:
		return newNever(h, o.Train).act, nil
	case !known:
		return nil, fmt.Errorf("replay: unknown policy %q: want one of %s", o.Policy,
			strings.Join(o.Policies.Names(), ", "))
	case p.Everything:
		return func(w *World) error { w.FullSync(); return nil }, nil
	}
	d, err := newDriver(h, o, p)
	if err != nil {
		return nil, err
	}
	return d.act, nil
}

// Run replays a history under a policy: the first o.Train versions are synced in full, each later one is a
// step.
func Run(h *History, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(h.Versions) <= o.Train {
		return nil, fmt.Errorf("replay: %w: %d versions, and the first %d are for training", ErrTooShort,
			len(h.Versions), o.Train)
	}
	w := NewWorld(h, o.Train)
	act, err := newActor(h, o)
	if err != nil {
		return nil, err
	}
	r := &Result{Site: h.Site, Policy: o.Policy, Train: o.Train}
	for w.Step() {
		if err := act(w); err != nil {
			return nil, fmt.Errorf("replay: version %d: %w", w.Now(), err)
		}
		r.add(w)
		if o.After != nil {
			o.After(w)
		}
	}
	r.total()
	return r, nil
}
