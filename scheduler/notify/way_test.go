// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
)

// Toy is a notifier of this file alone: it tells jobs whose title begins with "toy:". Its messages show
// that a notifier needs no other edit.
func (ways) Toy() way {
	return way{key: "title", place: 99, receivers: func(n *Notifier, j *job.Job) []receiver {
		name, ok := strings.CutPrefix(j.Title, "toy:")
		if !ok {
			return nil
		}
		return []receiver{{
			name: "toy " + name,
			key:  j.Title,
			send: func(_ context.Context, m status.Message) error {
				n.Log.Info("toy", "message", string(m.Kind)+" "+m.Job.Name)
				return nil
			},
		}}
	}}
}

// Every key of the job file that names receivers has a notifier, and the other way round.
func TestEveryKeyHasANotifier(t *testing.T) {
	noReceiver := []string{"notify.webhook_key", "notify.stale_after"}
	want := Keys()
	for _, k := range job.Keys() {
		if table, _ := k.Table(); table != "notify" || slices.Contains(noReceiver, k.Name) {
			continue
		}
		i := slices.Index(want, k.Name)
		if i < 0 {
			t.Errorf("%s: no notifier has this key: declare a method of ways in a file of this package", k.Name)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	if !slices.Equal(want, []string{"title"}) {
		t.Errorf("notifiers without a key in job: %v", want)
	}
}

// Receivers get their messages in the order command, webhook, mail.
func TestOrderOfWays(t *testing.T) {
	got := strings.Join(Keys(), " ")
	if want := "notify.command notify.webhook notify.email title"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The scheduler tells a notifier that it knows nothing of.
func TestSchedulerTellsEveryWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		o := options(nil)
		o.Now, o.Log = time.Now, slog.New(slog.NewTextHandler(&log, nil))
		n := New(o)
		s, err := scheduler.New(scheduler.Options{
			Runner: failing{},
			Store:  noRecords{},
			Teller: n,
			Spread: -1,
			Local:  time.UTC,
		})
		if err != nil {
			t.Fatal(err)
		}
		var files []scheduler.File
		for name, title := range map[string]string{"silent": "no receiver", "told": "toy:anna"} {
			j := job.Default("https://" + name + ".example.org/")
			j.Name, j.Title, j.Schedule, j.Limits.MinFree = name, title, "@every 6h", 0
			if err := j.Validate(); err != nil {
				t.Fatal(err)
			}
			files = append(files, scheduler.File{Name: name, Path: name + scheduler.Suffix, Job: j})
		}
		s.Apply(scheduler.Resolve(files, s.Config()))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { n.Run(ctx) })
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(7 * time.Hour)
		cancel()
		wg.Wait()
		if got := strings.Count(log.String(), `msg=toy message="failed told"`); got != 1 {
			t.Errorf("the notifier was told %d times of the failed job, want once:\n%s", got, log.String())
		}
		if strings.Contains(log.String(), "silent") {
			t.Errorf("a job without receivers has messages:\n%s", log.String())
		}
	})
}

// failing is a runner whose runs all fail.
type failing struct{}

func (failing) Run(context.Context, *job.Job, scheduler.RunOptions) status.Run {
	return status.Run{Started: time.Now(), Verdict: status.VerdictError, Error: "no such host"}
}

// noRecords keeps nothing.
type noRecords struct{}

func (noRecords) LoadRecords() (map[string]scheduler.Record, error) { return nil, nil }
func (noRecords) SaveRecords(map[string]*scheduler.Record) error    { return nil }
