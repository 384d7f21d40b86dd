// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// silentDispatcher is a dispatcher of one origin whose header timeout is 30 s, after some answers.
func silentDispatcher(answers int, slowest time.Duration) (m *Dispatcher, page site.URL) {
	tr, front := newTroubles()
	tr.HeaderTimeout = 30 * time.Second
	page = site.Canonical("http://h/hangs")
	tr.AddEntry(page)
	for range answers {
		tr.Answered(site.Canonical("http://h/well"))
		tr.Observe(page, 1, false, &fetch.Result{ToHeader: slowest}, nil)
	}
	return &Dispatcher{Front: front, HostErrors: tr, Tail: new(Tail)}, page
}

// A request that waits for its header gives way to a URL that is known to answer, when its origin answers
// nothing else meanwhile.
func TestFlightGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		answers int
		slowest time.Duration
		patient bool
		during  func(*Dispatcher)
		want    bool
	}{
		"nothing answers":    {answers: 3, want: true},
		"it gave way before": {answers: 3, patient: true},
		"the origin is slow": {answers: 3, slowest: 6 * time.Second},
		"another answers": {answers: 3, during: func(m *Dispatcher) {
			m.HostErrors.Answered(site.Canonical("http://h/other"))
		}},
		"no URL is known to answer": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, page := silentDispatcher(c.answers, c.slowest)
				ctx, f := m.Fly(context.Background(), page, c.patient)
				if c.during != nil {
					c.during(m)
				}
				time.Sleep(21 * time.Second)
				err := context.Cause(ctx)
				alone := f.Land()
				w, gave := f.GaveWay(err)
				if gave != c.want || errors.Is(err, ErrGaveWay) != c.want {
					t.Fatal(w, gave, err)
				}
				if alone != (c.during == nil) {
					t.Errorf("alone: %v", alone)
				}
				if gave {
					m.HostErrors.WitnessFailed(w, "no header", Silent)
				}
				if m.HostErrors.IsDown(page) != c.want {
					t.Errorf("down: %v", !c.want)
				}
			})
		})
	}
}

// A request that was answered when it had just given way leaves the look to the next one.
func TestFlightAnsweredAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, page := silentDispatcher(1, 0)
		_, f := m.Fly(context.Background(), page, false)
		time.Sleep(21 * time.Second)
		f.Land()
		if _, gave := f.GaveWay(nil); gave {
			t.Error("it gave way, and was answered")
		}
		if w, ok := m.HostErrors.Witness(page); !ok || w.Path() != "/well" {
			t.Error(w, ok)
		}
	})
}
