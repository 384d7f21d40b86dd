// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/job"
)

// A host that asks for a wait within bounds is waited for, one that asks for longer is not, and the pause
// outside of the window is no such wait.
func TestTurn(t *testing.T) {
	const most = 10 * time.Minute
	for _, c := range []struct {
		name   string
		asks   time.Duration
		window string
		want   error
		wait   time.Duration
	}{
		{"no wait", 0, "", nil, 0},
		{"a minute", time.Minute, "", nil, time.Minute},
		{"a day", 24 * time.Hour, "", fetch.ErrLongWait, 0},
		// the bubble's clock begins at midnight UTC
		{"outside of the window", 0, "02:00-04:00", nil, 2 * time.Hour},
		{"a day, outside of the window", 24 * time.Hour, "02:00-04:00", fetch.ErrLongWait, 2 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := job.Default("http://h.example/")
				j.Window, j.Timezone, j.Polite.MaxWait = c.window, "UTC", most
				hosts, p := new(fetch.Hosts), fetch.Politeness{Connections: 1}
				g, err := NewPacer(hosts, j, p, time.Now)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if ok, _ := hosts.Acquire("h.example", p, start); !ok {
					t.Fatal("no first turn")
				}
				hosts.Release("h.example", p, start, fetch.Observation{
					Status:     200,
					Duration:   time.Millisecond,
					RetryAfter: c.asks,
				})
				err = g.Turn(context.Background(), "h.example")
				if !errors.Is(err, c.want) || time.Since(start) != c.wait {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), c.want, c.wait)
				}
			})
		})
	}
}

func TestGateClosedFor(t *testing.T) {
	j := job.Default()
	j.Window, j.Timezone = "22:00-06:00", "UTC"
	g, err := NewPacer(new(fetch.Hosts), j, fetch.Politeness{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	at := func(h, m int) time.Time { return time.Date(2026, 11, 20, h, m, 0, 0, time.UTC) }
	for _, c := range []struct {
		from, to time.Time
		want     time.Duration
	}{
		{at(23, 0), at(25, 0), 0},
		{at(5, 0), at(7, 0), time.Hour},
		{at(5, 30), at(30, 0), 16 * time.Hour},
		{at(7, 0), at(7, 30), 30 * time.Minute},
		{at(5, 0), at(5+48, 0), 32 * time.Hour},
	} {
		if got := g.ClosedFor(c.from, c.to); got != c.want {
			t.Errorf("%v to %v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
