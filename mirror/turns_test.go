// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/testing/mirrortest"
)

// turnLog is a turn that notes who holds it; another run has it for busy whenever it was given back.
type turnLog struct {
	busy time.Duration

	mu     sync.Mutex
	away   bool
	waits  []status.Wait
	worked time.Duration
	since  time.Time
}

func (l *turnLog) Yield(w status.Wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.away {
		l.worked += time.Since(l.since)
	}
	l.away = true
	l.waits = append(l.waits, w)
}

func (l *turnLog) Resume(ctx context.Context) error {
	select {
	case <-time.After(l.busy):
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away, l.since = false, time.Now()
	return nil
}

func (l *turnLog) Over() bool { return false }

// A run gives its turn back for gaps of politeness, answers that do not come, waits that a host asks for and
// its window, makes no request meanwhile, and has the same result.
func TestRunGivesItsTurnBack(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		hub  func(w *mirrortest.Web)
		why  status.WaitFor
		most time.Duration // of work
	}{
		"gaps": {
			keys: []string{`polite.delay = "5s"`},
			why:  status.ForHost,
			most: time.Minute,
		},
		"silence": {
			keys: []string{`polite.delay = "0s"`},
			hub: func(w *mirrortest.Web) {
				w.Set(home+"/page03.html", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
					time.Sleep(time.Hour)
					fmt.Fprint(rw, "<title>late</title>late")
				}})
			},
			why:  status.ForSlow,
			most: time.Minute,
		},
		"a host that asks to wait": {
			keys: []string{`polite.delay = "0s"`, `polite.max_wait = "1h"`},
			hub: func(w *mirrortest.Web) {
				first := true
				w.Set(home+"/page03.html", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
					if first {
						first = false
						rw.Header().Set("Retry-After", "1800")
						rw.WriteHeader(503)
						return
					}
					fmt.Fprint(rw, "<title>late</title>late")
				}})
			},
			why:  status.ForHost,
			most: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, with(c.keys...), func(
				t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				hub(w, 12)
				if c.hub != nil {
					c.hub(w)
				}
				log := &turnLog{busy: 2 * time.Second, since: time.Now()}
				s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Turn = log })
				if err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, s, mirror.Complete, true)
				if log.away {
					t.Error("the run ended without its turn")
				}
				some := false
				for _, w := range log.waits {
					some = some || (w.For == c.why && w.Host == "www.example.org")
				}
				if !some {
					t.Errorf("paused for %+v", log.waits)
				}
				if log.worked > c.most {
					t.Errorf("it held its turn for %v", log.worked)
				}
			})
		})
	}
}

// A run that is asked to end while it waits for a turn ends as any other.
func TestRunEndsWithoutATurn(t *testing.T) {
	inBubble(t, with(`polite.delay = "5s"`), func(
		t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		hub(w, 12)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		log := &turnLog{busy: time.Hour, since: time.Now()}
		s, err := m.RunWith(ctx, func(o *mirror.Options) { o.Turn = log })
		if err == nil && s.Verdict == mirror.Complete {
			t.Fatalf("%+v", s)
		}
		if n := len(w.Requests()); n > 3 {
			t.Errorf("%d requests without a turn", n)
		}
		wantVerdict(t, m.Run(), mirror.Complete, true)
	})
}

// limits.max_time counts neither waits for a turn nor the time in which the window is closed; waits for the
// site it does.
func TestMaxTimeOfWork(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		busy time.Duration
		want mirror.Verdict
	}{
		"waits for a turn":   {[]string{`polite.delay = "5s"`}, 5 * time.Hour, mirror.Complete},
		"waits for the site": {[]string{`polite.delay = "10m"`}, time.Second, mirror.Partial},
		"window": {
			keys: []string{`polite.delay = "5s"`, `window = "00:00-00:01"`, `timezone = "UTC"`},
			busy: time.Second,
			want: mirror.Complete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			keys := append(c.keys, `limits.max_time = "1h"`)
			inBubble(t, with(keys...), func(
				t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				hub(w, 12)
				log := &turnLog{busy: c.busy, since: time.Now()}
				s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Turn = log })
				if err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, s, c.want, c.want == mirror.Complete)
			})
		})
	}
}
