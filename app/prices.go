// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"

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
}

// leastSteps is how many runs of a job must be left after those for learning.
const leastSteps = 4

// priced is the history of a job, and how it is replayed.
func priced(a *App, name string) (*job.Job, *replay.History, replay.Options, error) {
	o := replay.Options{}
	j, err := a.FindJob(name)
	if err != nil {
		return nil, nil, o, err
	}
	h, err := OwnHistory(a, name)
	if err != nil {
		return nil, nil, o, err
	}
	o.Train, o.MaxSkip = int(max(1, j.FullRuns)), int(j.Limits.MaxSkip)
	o.MaxAge = j.Limits.MaxSkipTime
	if n := len(h.Versions); n < o.Train+leastSteps {
		return nil, nil, o, fmt.Errorf("%s: %d complete runs so far, and prices are told by %d: mirrord run-now %s",
			name, n, o.Train+leastSteps, name)
	}
	return j, h, o, nil
}

// Prices replays the history of a job at the usual prices, and its own.
func Prices(ctx context.Context, a *App, name string) (*PriceReport, error) {
	j, h, o, err := priced(a, name)
	if err != nil {
		return nil, err
	}
	r := &PriceReport{
		Job:     name,
		InForce: j.Adaptive.Price,
		Runs:    len(h.Versions),
		Train:   o.Train,
	}
	prices := replay.Prices()
	if p := j.Adaptive.Price; p > 0 && !slices.Contains(prices, p) {
		prices = append(prices, p)
		slices.Sort(prices)
	}
	for _, price := range prices {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.note(fmt.Sprintf("%s at price %v", name, price))
		p, err := replay.AtPrice(h, o, price)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Prices = append(r.Prices, p)
	}
	return r, nil
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
func Tune(ctx context.Context, a *App, name string, g replay.Goal) (*TuneReport, error) {
	j, h, o, err := priced(a, name)
	if err != nil {
		return nil, err
	}
	a.note(name + ": trying prices")
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
