// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// A disk that fills between two runs is reported once to each receiver, by whichever job, also when the
// daemon
// starts again meanwhile, and its end is reported when there was a run.
func TestNoRoomIsTold(t *testing.T) {
	var free atomic.Int64
	free.Store(2000)
	run := &fakeRunner{takes: func(*job.Job) time.Duration { return time.Minute }}
	tell := &fakeTeller{}
	j := func(name, command string) File {
		const text = "url = \"https://%s.example/\"\nschedule = \"0 13 * * *\"\ntimezone = \"UTC\"\n" +
			"limits.min_free = 1000\nnotify.command = %q\n"
		return parsed(t, name, fmt.Sprintf(text, name, command))
	}
	o := Options{
		Runner: run,
		Teller: tell,
		Free:   func() (int64, error) { return free.Load(), nil },
	}
	files := []File{j("one", "a"), j("other", "b"), j("third", "a"), j("silent", "")}
	inBubble(t, o, files, func(t *testing.T, r *rig) {
		want := func(want ...string) {
			t.Helper()
			tell.mu.Lock()
			defer tell.mu.Unlock()
			slices.Sort(tell.told) // runs begin in any order
			if !slices.Equal(tell.told, want) {
				t.Errorf("told %q, want %q", tell.told, want)
			}
			tell.told = nil
		}
		sleepUntil(1, 14, 0)
		free.Store(900)
		sleepUntil(2, 12, 59)
		want()
		sleepUntil(2, 13, 30)
		want("room one", "room other")
		r.stop()
		r.boot(o)
		sleepUntil(4, 13, 30)
		want()
		free.Store(2000)
		sleepUntil(4, 14, 0)
		want("recovered one", "recovered other")
		sleepUntil(5, 12, 0)
		free.Store(900)
		sleepUntil(5, 13, 30)
		want("room one", "room other")
	})
}

// A pause that cannot be stored is in force and says that it is not stored; it is stored later.
func TestPauseThatIsNotStored(t *testing.T) {
	inBubble(t, Options{}, []File{makeJob(t, "a", "0 13 * * *", "UTC", "")}, func(t *testing.T, r *rig) {
		fail := func(err error) {
			r.store.mu.Lock()
			defer r.store.mu.Unlock()
			r.store.fail = err
		}
		fail(syscall.EROFS)
		if err := r.Pause("a"); err == nil || !strings.Contains(err.Error(), "was not stored") {
			t.Error(err)
		}
		if j := r.job("a"); j.Activity != status.Paused {
			t.Errorf("%+v", j)
		}
		fail(nil)
		sleepUntil(1, 12, 30)
		r.stop()
		r.boot(Options{Runner: r.runner})
		sleepUntil(1, 14, 0)
		r.want("a")
	})
}
