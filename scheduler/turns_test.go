// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/internal/timed"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// scripted makes runs that do what a function says.
type scripted func(ctx context.Context, j *job.Job, o RunOptions) error

func (f scripted) Run(ctx context.Context, j *job.Job, o RunOptions) status.Run {
	o.Progress(status.Progress{Phase: status.Retrieving})
	run := status.Run{Verdict: status.VerdictComplete}
	if f(ctx, j, o) != nil {
		run.Verdict = status.VerdictPartial
	}
	return run
}

// away gives a turn back for a while.
func away(ctx context.Context, o RunOptions, host string, d time.Duration) error {
	until := time.Now().Add(d)
	o.Turn.Yield(status.Wait{For: status.ForHost, Host: host, Until: &until})
	if err := timed.Wait(ctx, d); err != nil {
		return err
	}
	return o.Turn.Resume(ctx)
}

// A run that waits has no turn, and its job says what for; a job that waits for a turn names the one that
// has it.
func TestWaitsAreNamed(t *testing.T) {
	run := scripted(func(ctx context.Context, j *job.Job, o RunOptions) error {
		if j.Name == "waiter" {
			if err := timed.Wait(ctx, time.Minute); err != nil {
				return err
			}
			if err := away(ctx, o, "slow.example", 3*time.Hour); err != nil {
				return err
			}
			return timed.Wait(ctx, 5*time.Second)
		}
		return timed.Wait(ctx, 5*time.Hour)
	})
	files := []File{makeJob(t, "waiter", "0 13 * * *", "UTC", ""), makeJob(t, "worker", "1 13 * * *", "UTC", ""),
		makeJob(t, "behind", "2 13 * * *", "UTC", ""),
		makeJob(t, "window", "3 13 * * *", "UTC", `window = "22:00-02:00"`)}
	inBubble(t, Options{Runner: run, MaxRuns: 1}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 0)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if d := r.Status().Daemon; len(d.Turns) != 1 || d.Turns[0].Job != "waiter" || d.Parked != 0 {
			t.Errorf("%+v", d)
		}
		sleepUntil(1, 13, 10)
		for name, want := range map[string]string{
			"waiter": "new, running, waits for host slow.example until 16:01 UTC",
			"worker": "new, running",
			"behind": "new, waits for a turn behind worker",
			"window": "new, waits for its window, which opens at 22:00 UTC",
		} {
			if j := r.job(name); j.Say() != want {
				t.Errorf("%s: %q, want %q", name, j.Say(), want)
			}
		}
		d := r.Status().Daemon
		if len(d.Turns) != 1 || d.Turns[0].Job != "worker" || d.Parked != 1 || d.Running != 2 {
			t.Errorf("%+v", d)
		}
		sleepUntil(1, 16, 0)
		time.Sleep(63 * time.Second)
		if j := r.job("waiter"); !j.Turn { // it hardly works: its turn is a short one
			t.Errorf("%+v", j)
		}
	})
}

// No more runs than MaxRuns and MaxParked are under way; the one that has waited for long makes room, and
// continues when the others have had their turns.
func TestParkedRunsAreBounded(t *testing.T) {
	var mu sync.Mutex
	most, open := 0, 0
	starts := map[string]int{}
	run := scripted(func(ctx context.Context, j *job.Job, o RunOptions) error {
		mu.Lock()
		open++
		most = max(most, open)
		starts[j.Name]++
		n := starts[j.Name]
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			open--
		}()
		for range 3 {
			if err := timed.Wait(ctx, 5*time.Second); err != nil {
				return err
			}
			if j.Name[0] == 's' && n < 3 { // a site that makes its run wait
				if err := away(ctx, o, j.Name+".example", 8*time.Hour); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var files []File
	for i := range 12 {
		files = append(files, makeJob(t, fmt.Sprintf("slow%02d", i), "0 13 1 3 *", "UTC", ""),
			makeJob(t, fmt.Sprintf("fast%02d", i), "1 13 1 3 *", "UTC", ""))
	}
	inBubble(t, Options{Runner: run, MaxRuns: 2, MaxParked: 3}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 14, 20)
		for i := range 12 {
			if j := r.job(fmt.Sprintf("fast%02d", i)); j.Health != status.OK {
				t.Errorf("%s: %s", j.Name, j.Say())
			}
		}
		sleepUntil(3, 12, 0)
		for i := range 12 {
			if j := r.job(fmt.Sprintf("slow%02d", i)); j.Health != status.OK {
				t.Errorf("%s: %s, %+v", j.Name, j.Say(), j.Last)
			}
		}
		if most > 5 || open != 0 {
			t.Errorf("%d runs at a time, %d are left", most, open)
		}
		if d := r.Status().Daemon; d.Parked != 0 || d.Running != 0 || len(d.Turns) != 0 {
			t.Errorf("%+v", d)
		}
	})
}

// Who worked least recently comes first, and a run that has worked for long gives way.
func TestLeastRecentComesFirst(t *testing.T) {
	var mu sync.Mutex
	var order []string
	run := scripted(func(ctx context.Context, j *job.Job, o RunOptions) error {
		for range 3 {
			mu.Lock()
			order = append(order, j.Name)
			mu.Unlock()
			for !o.Turn.Over() {
				if err := timed.Wait(ctx, time.Second); err != nil {
					return err
				}
			}
			o.Turn.Yield(status.Wait{For: status.ForTurn})
			if err := o.Turn.Resume(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	var files []File
	for _, n := range []string{"a", "b", "c"} {
		files = append(files, makeJob(t, n+"00000", "0 13 1 3 *", "UTC", ""))
	}
	inBubble(t, Options{Runner: run, MaxRuns: 1}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 0)
		if j := r.job("c00000"); j.Say() != "new, waits for a turn behind a00000, b00000" {
			t.Errorf("%s", j.Say())
		}
		sleepUntil(1, 13, 32)
		want := []string{"a00000", "b00000", "c00000", "a00000", "b00000", "c00000", "a00000"}
		if !slices.Equal(order[:min(len(want), len(order))], want) {
			t.Errorf("%q", order)
		}
	})
}

// A run that is cancelled while it waits for a turn ends, and the turns are right afterwards.
func TestEndWhileWaiting(t *testing.T) {
	run := scripted(func(ctx context.Context, j *job.Job, o RunOptions) error {
		if j.Name == "worker" {
			return timed.Wait(ctx, time.Hour)
		}
		if err := timed.Wait(ctx, 30*time.Second); err != nil { // too much for a short turn
			return err
		}
		o.Turn.Yield(status.Wait{For: status.ForSlow, Host: "h"})
		if err := timed.Wait(ctx, 5*time.Second); err != nil {
			return err
		}
		return o.Turn.Resume(ctx)
	})
	files := []File{makeJob(t, "early0", "0 13 * * *", "UTC", ""), makeJob(t, "worker", "0 13 * * *", "UTC", "")}
	inBubble(t, Options{Runner: run, MaxRuns: 1}, files, func(t *testing.T, r *rig) {
		sleepUntil(1, 13, 1)
		if j := r.job("early0"); j.Say() != "new, running, waits for a turn behind worker" {
			t.Errorf("%s", j.Say())
		}
		if err := r.Cancel("early0"); err != nil {
			t.Error(err)
		}
		if j := r.job("early0"); j.Activity != status.Idle || j.Last == nil || j.Last.Cause != status.Cancelled {
			t.Errorf("%s", j.Say())
		}
		sleepUntil(1, 15, 0)
		if d := r.Status().Daemon; d.Parked != 0 || d.Running != 0 || len(d.Turns) != 0 {
			t.Errorf("%+v", d)
		}
	})
}
