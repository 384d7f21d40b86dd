// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"log/slog"
	"net/http"
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
			t.Errorf("%s: no notifier has this key", k.Name)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	if len(want) > 0 {
		t.Errorf("notifiers without a key in job: %v", want)
	}
}

// Receivers get their messages in the order command, webhook, mail.
func TestOrderOfWays(t *testing.T) {
	got := strings.Join(Keys(), " ")
	if want := "notify.command notify.webhook notify.email"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The scheduler tells a notifier that it knows nothing of.
func TestSchedulerTellsEveryWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var told []string
		o := options(nil)
		o.Now, o.Log = time.Now, slog.New(slog.NewTextHandler(&log, nil))
		o.Transport = func(j *job.Job) http.RoundTripper { return taking{j.Name, &told} }
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
		for name, hook := range map[string]string{"silent": "", "told": "https://hook.example.org/"} {
			j := job.Default("https://" + name + ".example.org/")
			j.Name, j.Schedule, j.Limits.MinFree = name, "@every 6h", 0
			j.Notify.Webhook.Value = hook
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
		if len(told) != 1 || told[0] != "failed told" {
			t.Errorf("the notifier told %q, want once of the failed job:\n%s", told, log.String())
		}
		if strings.Contains(log.String(), "silent") {
			t.Errorf("a job without receivers has messages:\n%s", log.String())
		}
	})
}

// taking takes the messages of a job.
type taking struct {
	job string
	all *[]string
}

func (x taking) RoundTrip(r *http.Request) (*http.Response, error) {
	*x.all = append(*x.all, r.Header.Get("X-Mirrord-Event")+" "+x.job)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
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
