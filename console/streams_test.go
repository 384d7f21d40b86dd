// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/status"
)

// A live page holds two hundred listeners, for whom the daemon is asked once a look; they learn that the run
// has ended, and leave nothing behind.
func TestTwoHundredListeners(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Activity = status.Running
	b.daemon.jobs[0].Progress = &status.Progress{Phase: status.Retrieving, Done: 17}
	b.login(Read)
	srv := httptest.NewServer(b.srv)
	defer srv.Close()
	var first, all sync.WaitGroup
	const listeners = 200
	for range listeners {
		first.Add(1)
		all.Go(func() {
			said := sync.OnceFunc(first.Done)
			defer said()
			r, err := http.NewRequest(http.MethodGet, srv.URL+"/jobs/job0000/live", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Host = testHost
			r.AddCookie(b.cookie)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var got strings.Builder
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				got.WriteString(lines.Text() + "\n")
				if strings.Contains(lines.Text(), "17 answered") {
					said()
				}
			}
			text := got.String()
			if !strings.Contains(text, "17 answered") || !strings.HasSuffix(text, "event: over\ndata:\n\n") {
				t.Errorf("a listener got %q", text)
			}
		})
	}
	first.Wait()
	b.srv.live.mu.Lock()
	topics, n := len(b.srv.live.topics), b.srv.live.n
	b.srv.live.mu.Unlock()
	if topics != 1 || n != listeners {
		t.Errorf("%d topics for %d listeners", topics, n)
	}
	b.daemon.mu.Lock()
	b.daemon.jobs[0].Activity = status.Idle
	b.daemon.mu.Unlock()
	all.Wait()
	b.srv.live.mu.Lock()
	defer b.srv.live.mu.Unlock()
	if len(b.srv.live.topics) != 0 || b.srv.live.n != 0 {
		t.Errorf("%d topics and %d listeners stay", len(b.srv.live.topics), b.srv.live.n)
	}
}

// The end of the console ends what is live.
func TestStreamsEnd(t *testing.T) {
	s := newStreams(time.Millisecond)
	topic, err := s.join("x", func() ([]byte, bool) { return []byte("now"), false })
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	if now, _, _ := s.seen(topic); string(now) != "now" {
		t.Errorf("it shows %q", now)
	}
	if _, err := s.join("x", nil); err == nil {
		t.Error("a closed console takes listeners")
	}
}
