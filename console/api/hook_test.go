// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/app/access"
	"mirrord/internal/webhook"
	"mirrord/store/shared"
)

// sender signs calls for a job.
type sender struct {
	*client
	key []byte
	n   int
}

func newSender(t *testing.T, now func() time.Time) *sender {
	c := newClient(t, now)
	secret, f := access.NewHookKey("docs", now(), time.Time{})
	c.facts.tokens["forge"] = f
	key, err := webhook.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return &sender{client: c, key: key}
}

// headers are those of a call with a new identifier.
func (s *sender) headers(body string) []string {
	s.n++
	id, now := fmt.Sprint("msg_", s.n), s.now()
	return []string{webhook.HeaderID, id, webhook.HeaderTime, strconv.FormatInt(now.Unix(), 10),
		webhook.HeaderSignature, webhook.Sign(s.key, id, now, []byte(body))}
}

const release = `{"action":"published"}`

func (s *sender) call() {
	s.Helper()
	s.want(202, `"job":"docs"`, "", "POST", "/v1/hook/docs", release, s.headers(release)...)
}

// A signed call counts, and nothing else does. Who has no key cannot tell which jobs there are.
func TestSignedCalls(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) // and stays it, so that no limit recovers
	s := newSender(t, func() time.Time { return noon })
	s.spec = loadSpec(t)
	s.call()
	h := s.headers(release)
	s.want(202, `"due"`, "", "POST", "/v1/hook/docs", release, h...)
	s.want(202, `"repeated":true`, "", "POST", "/v1/hook/docs", release, h...)
	_, another := access.NewHookKey("docs", s.now(), time.Time{})
	wrong := webhook.Sign(another.Key, h[1], s.now(), []byte(release))
	signed := func(sig string) []string { return append(slices.Clone(h[:5]), sig) }
	s.want(202, "docs", "", "POST", "/v1/hook/docs", release, signed(wrong+" "+h[5])...)
	refused := s.want(401, "unauthorized", "", "POST", "/v1/hook/docs", release, signed(wrong)...)
	for _, path := range []string{"/v1/hook/wiki", "/v1/hook/nosuch"} {
		if got := s.want(401, "unauthorized", "", "POST", path, release, h...); got != refused {
			t.Errorf("%s: %s, and for a wrong key %s", path, got, refused)
		}
	}
	s.want(401, "unauthorized", "", "POST", "/v1/hook/docs", release+" ", h...)
	s.want(401, "webhook-id", "", "POST", "/v1/hook/docs", release)
	old := s.now().Add(-webhook.Tolerance - time.Minute)
	s.want(401, "webhook-timestamp", "", "POST", "/v1/hook/docs", release, webhook.HeaderID, "a",
		webhook.HeaderTime, strconv.FormatInt(old.Unix(), 10),
		webhook.HeaderSignature, webhook.Sign(s.key, "a", old, []byte(release)))
	s.want(413, "too_large", "", "POST", "/v1/hook/docs", strings.Repeat("x", mostHook+1), h...)
	s.want(401, "unauthorized", s.token[access.Operate], "POST", "/v1/hook/docs", release)
	s.want(404, "no such call", "", "POST", "/v1/hook/"+"..%2fdocs", release, h...)
	for range 2 * wrongBurst {
		s.do("", "POST", "/v1/hook/docs", release)
	}
	s.want(429, "too_many", "", "POST", "/v1/hook/docs", release)
	s.call()
	if f := s.facts.hooks["docs"]; len(f.Seen) != 3 || len(s.daemon.done()) > 0 {
		t.Errorf("seen: %v, done: %v", f.Seen, s.daemon.done())
	}
	codes := map[int]int{}
	for range 2 * hookBurst {
		codes[s.do("", "POST", "/v1/hook/docs", release, s.headers(release)...).StatusCode]++
	}
	if codes[429] < hookBurst/2 || codes[202] > hookBurst {
		t.Errorf("answers: %v", codes)
	}
}

// runs lets a Server start runs within a synctest bubble, until the function that it returns is called.
func (s *sender) runs(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.srv.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// Calls that come together start one run, soon after the last one, and not much later than the first.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, time.Now)
		end := s.runs(t)
		defer end()
		wait := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n := len(s.daemon.done()); n != want {
				t.Errorf("%d runs, want %d", n, want)
			}
		}
		s.call()
		wait(hookQuiet-time.Second, 0)
		s.call()
		wait(hookQuiet-time.Second, 0)
		wait(2*time.Second, 1)
		wait(time.Hour, 1)
		if a := s.lastAct(); a.Who != "webhook" || a.What != "run" || a.Job != "docs" || a.Error != "" {
			t.Errorf("the audit log has %+v", a)
		}
		for range hookMost/(10*time.Second) - 1 {
			s.call()
			wait(10*time.Second, 1)
		}
		s.call()
		wait(10*time.Second+time.Second, 2)
		wait(time.Hour, 2)
		if f := s.facts.hooks["docs"]; !f.Last.IsZero() {
			t.Errorf("calls wait still: %+v", f)
		}
	})
}

// A run under way may have seen the site before the release: another one follows it.
func TestRunAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, time.Now)
		going := &fakeRun{make(chan struct{})}
		s.daemon.running = map[string]*fakeRun{"docs": going}
		end := s.runs(t)
		defer end()
		s.call()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(s.daemon.done()); n != 1 {
			t.Fatalf("%d requests for a run", n)
		}
		s.call()
		s.daemon.mu.Lock()
		s.daemon.running = nil
		s.daemon.mu.Unlock()
		close(going.done)
		time.Sleep(hookQuiet)
		synctest.Wait()
		if n := len(s.daemon.done()); n != 3 { // one for the call before the run had ended, one for that after it
			t.Errorf("%d requests for a run", n)
		}
	})
}

// A call that was accepted outlives the process, and so does the memory of it. A run that cannot be started
// is in the audit log.
func TestCallsOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t, time.Now)
		end := s.runs(t)
		h := s.headers(release)
		s.want(202, "", "", "POST", "/v1/hook/docs", release, h...)
		end()
		if len(s.daemon.done()) > 0 {
			t.Fatal("a run was started too early")
		}
		s.srv = New(s.srv.Options)
		s.want(202, `"repeated":true`, "", "POST", "/v1/hook/docs", release, h...)
		s.daemon.err = errors.New("the job is paused")
		end = s.runs(t)
		defer end()
		time.Sleep(hookQuiet)
		synctest.Wait()
		if a := s.lastAct(); len(s.daemon.done()) != 1 || a.Error != "the job is paused" {
			t.Errorf("done: %v; the audit log has %+v", s.daemon.done(), a)
		}
		time.Sleep(time.Hour)
		if n := len(s.daemon.done()); n != 1 {
			t.Errorf("%d requests for a run", n)
		}
	})
}

// Calls are remembered for a bounded time.
func TestSeen(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[string]time.Time{"old": now.Add(-seenFor - time.Second), "a": now}
	f := noted(&shared.HookFact{Seen: seen}, "b", now)
	if len(f.Seen) != 2 || f.First != now || f.Last != now || noted(f, "a", now) != nil {
		t.Errorf("%+v", f)
	}
}
