// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"mirrord/evolution/policy"
)

// Stretch sums up steps that follow one another.
type Stretch struct {
	Steps    int      `json:"steps"`
	Requests float64  `json:"requests"`      // of a step, in the mean
	OfFull   float64  `json:"of_full"`       // the same as a share of a full sync
	Found    *float64 `json:"found"`         // share of the changes that their step found; null: nothing changed
	Late     *float64 `json:"late_hours"`    // how late a change is found, in the mean, see Priced
	Lost     int      `json:"lost,omitzero"` // pages on which the mirror is still wrong at the end
	MB       float64  `json:"mb"`            // megabytes that the answers of a step transfer, in the mean
	OfFullMB float64  `json:"of_full_mb"`    // the same as a share of a full sync
}

// Priced is what adaptive would have asked and missed at one price. How late a change is found is counted
// from the step at which a full sync would have found it, so that one that its step finds is not late at
// all: the hours for which pages of the mirror were wrong after a step, over the number of changes.
type Priced struct {
	Price   float64 `json:"price"`
	PriceMB float64 `json:"price_mb"` // of a megabyte
	Whole   Stretch `json:"whole"`    // all steps after the training
	Early   Stretch `json:"early"`    // the first half of them
	Late    Stretch `json:"late"`     // the other
	Total   Total   `json:"-"`        // of all steps, as the drawings show it

	facts []stepFacts // of all steps
	limit int         // of requests; 0: none
}

// early are the steps of Early.
func (p *Priced) early() []stepFacts { return p.facts[:(len(p.facts)+1)/2] }

// whole are all steps.
func (p *Priced) whole() []stepFacts { return p.facts }

// Prices are the usual prices, those of the drawings.
func Prices() []float64 { return []float64{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1} }

// PricesMB are the usual prices of a megabyte.
func PricesMB() []float64 { return []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3} }

// stepFacts is what counts of one step.
type stepFacts struct {
	requests, full, changes, found, stale int
	fresh                                 int // of the requests, those for what was new
	bytes, fullBytes                      int64
	until                                 time.Duration // to the step after it
}

// lateness is for how many hours pages of the mirror were wrong after steps, and how many changes there were.
func lateness(steps []stepFacts) (wrong float64, changes int) {
	for _, f := range steps {
		wrong, changes = wrong+float64(f.stale)*f.until.Hours(), changes+f.changes
	}
	return wrong, changes
}

func stretchOf(steps []stepFacts) (s Stretch) {
	var full, found int
	wrong, changes := lateness(steps)
	var bytes, fullBytes int64
	for _, f := range steps {
		s.Requests += float64(f.requests)
		full, found = full+f.full, found+f.found
		bytes, fullBytes = bytes+f.bytes, fullBytes+f.fullBytes
		s.Lost = f.stale
	}
	s.Steps, s.Found = len(steps), ratio(found, changes)
	if full > 0 {
		s.OfFull = s.Requests / float64(full)
	}
	if s.Steps > 0 {
		s.Requests /= float64(s.Steps)
		s.MB = float64(bytes) / 1e6 / float64(s.Steps)
		s.OfFullMB = float64(bytes) / float64(max(1, fullBytes))
	}
	if changes > 0 {
		late := wrong / float64(changes)
		s.Late = &late
	}
	return s
}

// AtPrice replays a history under adaptive at a price of a request, and that of a megabyte that o has.
func AtPrice(h *History, o Options, price float64) (Priced, error) {
	o.Policy, o.Price, o.Budget = policy.Adaptive, price, 0
	var facts []stepFacts
	o.After = func(w *World) {
		m := w.Measure()
		f := stepFacts{
			requests:  m.Requests,
			fresh:     w.Fresh(),
			full:      m.Full,
			changes:   m.Changes,
			found:     m.Found,
			stale:     m.Stale,
			bytes:     m.Bytes,
			fullBytes: m.FullBytes,
		}
		if next := w.Now() + 1; next < len(h.Versions) {
			f.until = h.Versions[next].Time.Sub(h.Versions[w.Now()].Time)
		} else if n := len(facts); n > 0 {
			f.until = facts[n-1].until
		}
		facts = append(facts, f)
	}
	r, err := Run(h, o)
	if err != nil {
		return Priced{}, err
	}
	p := Priced{
		Price:   price,
		PriceMB: o.PriceMB,
		Whole:   stretchOf(facts),
		Total:   r.Total,
		facts:   facts,
		limit:   o.MaxRequests,
	}
	p.Early, p.Late = stretchOf(p.early()), stretchOf(facts[len(p.early()):])
	return p, nil
}

// Goal is what a price is tuned for: at most so many requests a run, or that a change is found at most so
// late, in the mean. One of the two is 0.
type Goal struct {
	Requests float64       `json:"requests,omitzero"`
	Late     time.Duration `json:"-"`
}

// lateParts is in how many parts of the steps a lateness has to be kept to: it is mostly that of the few
// changes which were missed for long, so a mean that was kept to once says little.
const lateParts = 2

// fits reports whether steps keep to the goal. A part in which little changed counts as half of a usual one
// at least, so that one change that was missed in it does not decide. Without a step in which far more
// changed than in any other they keep to it as well: where all was made again once, most changes were found
// in time, and the mean says little of the others. Parts that fit make a whole that does.
func (g Goal) fits(steps []stepFacts) bool {
	if g.Requests > 0 {
		return stretchOf(steps).Requests <= g.Requests
	}
	once := single(steps)
	return g.kept(steps) && (once < 0 || g.kept(slices.Delete(slices.Clone(steps), once, once+1)))
}

// kept reports whether each part of the steps keeps to a lateness.
func (g Goal) kept(steps []stepFacts) bool {
	n := len(steps)
	_, all := lateness(steps)
	for i := range lateParts {
		wrong, changes := lateness(steps[n*i/lateParts : n*(i+1)/lateParts])
		if wrong > g.Late.Hours()*(float64(changes)+float64(all)/lateParts)/2 {
			return false
		}
	}
	return true
}

// singular is how many times as much as in any other step changes in one that stands for itself.
const singular = 2

// single is the step in which more changed than in any other by far; -1: none.
func single(steps []stepFacts) int {
	most, next := -1, 0
	for i, f := range steps {
		switch {
		case most < 0 || f.changes > steps[most].changes:
			if most >= 0 {
				next = steps[most].changes
			}
			most = i
		default:
			next = max(next, f.changes)
		}
	}
	if most >= 0 && steps[most].changes <= singular*next {
		return -1
	}
	return most
}

// lateShare is what runs whose changes are to be found in time request at least, as a share of a full sync,
// unless the price is the default or less: of what never happened before only looks tell, and a twentieth is
// a look at each page in twenty runs.
const lateShare = 0.05

// looks reports whether steps look at enough for a goal.
func (g Goal) looks(p *Priced, steps []stepFacts) bool {
	return g.Requests > 0 || p.Price <= policy.DefaultPrice || stretchOf(steps).OfFull >= lateShare
}

// Tuned is a price that fits a goal. Its results are with the limit of requests.
type Tuned struct {
	Priced
	Met bool `json:"met"` // false: no price does, and this one comes nearest
	// the limit of requests that belongs to the price, in the mean of 8 runs: for a site that begins to change
	// more; 0: none
	MaxRequests int `json:"max_requests,omitzero"`
	// the price that fits the first half of the steps, tried on the other half; nil when there are too few
	Trial *Priced `json:"trial,omitempty"`
}

// Prices that are tried lie between these, stepRatio apart.
const (
	leastPrice = 1e-5
	mostPrice  = 0.5
	stepRatio  = 1.06
)

// A price for a lateness is doubled, which is so many steps of the scale, only where that saves this part of
// the requests: otherwise what a run leaves is hardly less, and what it does not notice may be all of the
// site.
const (
	doubling    = 12
	leastSaving = 0.1
)

// leastTrial is how many steps there must be for a trial on half of them.
const leastTrial = 8

// Tune looks for the price that fits a goal: the lowest that keeps to a number of requests, which is the
// freshest, or the highest that keeps to a lateness, which is the cheapest. A price for a number of requests
// keeps to it by itself in the runs that are known, and has it as a limit in those to come. goOn is called
// before each replay; its error ends the search.
func Tune(h *History, o Options, g Goal, goOn func() error) (Tuned, error) {
	if g.Requests > 0 {
		o.MaxRequests = 0
	} else {
		o.Late = g.Late
	}
	t := tuner{
		goOn: goOn,
		h:    h,
		o:    o,
		seen: map[int]Priced{},
	}
	p, met, err := t.find(g, (*Priced).whole)
	tuned := Tuned{Priced: p, Met: met}
	if g.Requests > 0 {
		tuned.MaxRequests = p.limit
	}
	if err != nil || p.Whole.Steps < leastTrial {
		return tuned, err
	}
	trial, _, err := t.find(g, (*Priced).early)
	tuned.Trial = &trial
	return tuned, err
}

// limit is the limit of requests that belongs to a goal of requests, after steps without one. It does not
// count pages new to the mirror, of which there will be as many again; and what these steps leave of it
// later ones may use on top, so it is lower: as many steps again then keep to the goal.
func (g Goal) limit(steps []stepFacts) int {
	n, fresh := float64(len(steps)), 0
	for _, f := range steps {
		fresh += f.fresh
	}
	most := g.Requests - float64(fresh)/n
	highest := max(1, int(math.Ceil(most)))
	return highest - sort.Search(highest-1, func(less int) bool {
		var purse policy.Purse
		for _, f := range steps {
			purse.Spend(highest-less, f.requests-f.fresh)
		}
		return float64(highest-less)+float64(purse.Budget(0))/n <= most
	})
}

type tuner struct {
	goOn func() error
	h    *History
	o    Options
	seen map[int]Priced // by step of the scale
}

func (t *tuner) at(step int) (Priced, error) {
	if p, ok := t.seen[step]; ok {
		return p, nil
	}
	if err := t.goOn(); err != nil {
		return Priced{}, err
	}
	p, err := AtPrice(t.h, t.o, leastPrice*math.Pow(stepRatio, float64(step)))
	if err != nil {
		return p, fmt.Errorf("%s: %w", t.h.Site, err)
	}
	t.seen[step] = p
	return p, nil
}

// limited is the result of a price with the limit of requests that belongs to a goal, as it is known after
// some of the steps.
func (t *tuner) limited(p Priced, g Goal, known []stepFacts) (Priced, error) {
	if g.Requests == 0 {
		return p, nil
	}
	o := t.o
	o.MaxRequests = g.limit(known)
	if err := t.goOn(); err != nil {
		return p, err
	}
	return AtPrice(t.h, o, p.Price)
}

// find bisects the scale of prices, on which requests fall and lateness rises, for the one that fits a goal
// best in some steps. Its result is with the limit that belongs to the goal.
func (t *tuner) find(g Goal, steps func(*Priced) []stepFacts) (best Priced, met bool, err error) {
	lo, hi := 0, int(math.Log(mostPrice/leastPrice)/math.Log(stepRatio)) // the price that fits best lies between
	frugal := g.Requests > 0
	for lo < hi {
		mid := (lo + hi) / 2
		if !frugal {
			mid = (lo + hi + 1) / 2
		}
		p, err := t.at(mid)
		if err != nil {
			return p, false, err
		}
		switch fits := g.fits(steps(&p)) && g.looks(&p, steps(&p)); {
		case frugal && fits:
			hi = mid
		case frugal:
			lo = mid + 1
		case fits:
			lo = mid
		default:
			hi = mid - 1
		}
	}
	if best, err = t.prudent(lo, g, steps); err != nil {
		return best, false, err
	}
	met = g.fits(steps(&best))
	best, err = t.limited(best, g, steps(&best))
	return best, met, err
}

// prudent is the result of the price at a step of the scale or, for a lateness, of a lower one: half of it,
// and half again, as long as that hardly takes more requests.
func (t *tuner) prudent(step int, g Goal, steps func(*Priced) []stepFacts) (Priced, error) {
	best, err := t.at(step)
	for err == nil && g.Late > 0 && best.Price >= 2*policy.DefaultPrice {
		step -= doubling
		var half Priced
		if half, err = t.at(step); err != nil {
			break
		}
		with, without := stretchOf(steps(&best)).Requests, stretchOf(steps(&half)).Requests
		if with < (1-leastSaving)*without || !g.fits(steps(&half)) {
			break
		}
		best = half
	}
	return best, err
}
