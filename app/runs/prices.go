// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/replay"
)

// PriceReport is what prices of a request would have come to in the runs that a job has made.
type PriceReport struct {
	Job     string          `json:"job"`
	InForce float64         `json:"in_force"` // the price of the job
	Runs    int             `json:"runs"`     // complete runs of the job
	Train   int             `json:"train"`    // of them, how many come before the first step
	Prices  []replay.Priced `json:"prices"`   // the lowest first

	InForceMB float64         `json:"in_force_mb"` // the price of a megabyte that the job has
	Megabytes []replay.Priced `json:"megabytes"`   // prices of a megabyte, at the price of the job
}

// leastSteps is how many runs of a job must be left after those for learning.
const leastSteps = 4

// priced is the history of a job, and how it is replayed. looks says that runs that are one look at its site
// are one version: how late a change is found counts by time, and runs by hand follow one another in seconds.
func priced(a *env.App, name string, looks bool) (*job.Job, *replay.History, replay.Options, error) {
	o := replay.Options{}
	j, err := a.FindJob(name)
	if err != nil {
		return nil, nil, o, err
	}
	of, counted := j, ", runs within a tenth of the usual interval counted as one"
	if !looks {
		of, counted = nil, ""
	}
	h, err := look.OwnHistory(a, name, of)
	if err != nil {
		return nil, nil, o, err
	}
	o.Train, o.MaxSkip = int(max(1, j.FullRuns)), int(j.Limits.MaxSkip)
	o.MaxAge, o.PriceMB = j.MaxSkipTime(), j.Adaptive.PriceMB
	o.MaxRequests, o.Late = int(j.Limits.MaxRequests), j.Adaptive.Late
	if n := len(h.Versions); n < o.Train+leastSteps {
		return nil, nil, o, fmt.Errorf("%s: %s so far%s; prices need %d: mirrord run-now %s",
			name, count.Of(n, "complete run"), counted, o.Train+leastSteps, name)
	}
	return j, h, o, nil
}

// Prices replays the history of a job at the usual prices, and its own.
func Prices(ctx context.Context, a *env.App, name string) (*PriceReport, error) {
	j, h, o, err := priced(a, name, false)
	if err != nil {
		return nil, err
	}
	r := &PriceReport{
		Job:       name,
		InForce:   j.Adaptive.Price,
		InForceMB: o.PriceMB,
		Runs:      len(h.Versions),
		Train:     o.Train,
	}
	at := func(list *[]replay.Priced, price, priceMB float64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		a.Progress(fmt.Sprintf("%s at price %v, %v a megabyte", name, price, priceMB))
		o.PriceMB = priceMB
		p, err := replay.AtPrice(h, o, price)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*list = append(*list, p)
		return nil
	}
	for _, price := range withOwn(replay.Prices(), r.InForce) {
		if err := at(&r.Prices, price, r.InForceMB); err != nil {
			return nil, err
		}
	}
	for _, price := range withOwn(replay.PricesMB(), r.InForceMB) {
		if err := at(&r.Megabytes, cmp.Or(r.InForce, -1), price); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// withOwn adds the price of a job to the usual ones.
func withOwn(prices []float64, own float64) []float64 {
	if own > 0 && !slices.Contains(prices, own) {
		prices = append(prices, own)
		slices.Sort(prices)
	}
	return prices
}

// TuneReport is a price for a goal.
type TuneReport struct {
	Job       string  `json:"job"`
	InForce   float64 `json:"in_force"`
	Goal      float64 `json:"at_most_requests,omitzero"`
	LateHours float64 `json:"at_most_late_hours,omitzero"`
	Runs      int     `json:"runs"`
	Train     int     `json:"train"`
	replay.Tuned
}

// Tune proposes a price for a job by its own history. It changes nothing.
func Tune(ctx context.Context, a *env.App, name string, g replay.Goal) (*TuneReport, error) {
	j, h, o, err := priced(a, name, g.Late > 0)
	if err != nil {
		return nil, err
	}
	first, last := h.Versions[o.Train].Time, h.Versions[len(h.Versions)-1].Time
	if last.Sub(first) < g.Late {
		return nil, fmt.Errorf("%s: the runs after the first %d span %s, which does not show how late changes "+
			"are found: want %s or more", name, o.Train, count.Span(last.Sub(first)), count.Span(g.Late))
	}
	a.Progress(name + ": trying prices")
	t, err := replay.Tune(h, o, g, ctx.Err)
	if err != nil {
		return nil, err
	}
	return &TuneReport{
		Job:       name,
		InForce:   j.Adaptive.Price,
		Goal:      g.Requests,
		LateHours: g.Late.Hours(),
		Runs:      len(h.Versions),
		Train:     o.Train,
		Tuned:     t,
	}, nil
}
