// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"mirrord/fetch/robots"
)

// factsOf are robots.txt in memory, or nothing but an error.
type factsOf struct {
	known map[string]robots.FileCopy
	err   error
	loads int
}

func (f *factsOf) LoadHost(origin string) (robots.FileCopy, bool, error) {
	f.loads++
	fact, ok := f.known[origin]
	return fact, ok, f.err
}

func (f *factsOf) SaveHost(origin string, fact robots.FileCopy) error {
	if f.err == nil {
		f.known[origin] = fact
	}
	return f.err
}

// robots.txt that one machine has fetched is not fetched by others for a day; without them each continues
// with its own copy.
func TestSharedRobots(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := &factsOf{known: map[string]robots.FileCopy{}}
	machine := func() (sharedRobots, *factsOf) {
		own := &factsOf{known: map[string]robots.FileCopy{}}
		return sharedRobots{own, all, func() time.Time { return now }, slog.New(slog.DiscardHandler)}, own
	}
	a, ownA := machine()
	b, ownB := machine()
	const origin = "http://a.example"
	if _, ok, err := b.LoadHost(origin); ok || err != nil {
		t.Errorf("known: %t, %v", ok, err)
	}
	if err := a.SaveHost(origin, robots.FileCopy{Fetched: now, Status: 200, ETag: "first"}); err != nil {
		t.Fatal(err)
	}
	if f, ok, err := b.LoadHost(origin); !ok || err != nil || f.ETag != "first" || !f.Fetched.Equal(now) {
		t.Errorf("from another machine: %+v, %t, %v", f, ok, err)
	}
	loads := all.loads
	if f, ok, _ := b.LoadHost(origin); !ok || f.ETag != "first" || all.loads != loads {
		t.Errorf("again: %+v, %d looks elsewhere", f, all.loads-loads)
	}
	now = now.Add(robotsFresh)
	all.err = errors.New("away")
	if f, ok, err := b.LoadHost(origin); !ok || err != nil || f.ETag != "first" {
		t.Errorf("without the others: %+v, %t, %v", f, ok, err)
	}
	if err := b.SaveHost(origin, robots.FileCopy{Fetched: now, ETag: "second"}); err != nil {
		t.Errorf("without the others: %v", err)
	}
	all.err = nil
	if f, _, _ := a.LoadHost(origin); f.ETag != "first" {
		t.Errorf("from the time without the others: %+v", f)
	}
	if err := b.SaveHost(origin, ownB.known[origin]); err != nil {
		t.Fatal(err)
	}
	if f, _, _ := a.LoadHost(origin); f.ETag != "second" || ownA.known[origin].ETag != "second" {
		t.Errorf("a newer one: %+v", f)
	}
}
