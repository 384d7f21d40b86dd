// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/app/access"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// A live page holds two hundred listeners; they learn that the run has ended, and leave nothing behind.
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
				if strings.Contains(lines.Text(), "17 done") {
					said()
				}
			}
			text := got.String()
			if !strings.Contains(text, "17 done") || !strings.HasSuffix(text, "event: over\ndata:\n\n") {
				t.Errorf("a listener got %q", text)
			}
		})
	}
	first.Wait()
	if n := len(b.srv.live.listeners); n != listeners {
		t.Errorf("%d listeners of %d", n, listeners)
	}
	b.daemon.mu.Lock()
	b.daemon.jobs[0].Activity = status.Idle
	b.daemon.mu.Unlock()
	all.Wait()
	if n := len(b.srv.live.listeners); n != 0 {
		t.Errorf("%d listeners stay", n)
	}
}

// A live page ends soon after its reader was logged out, or has another role, and sends him to the login.
func TestStreamEndsWithLogin(t *testing.T) {
	for how, take := range map[string]func(b *browser, users *fakeUsers){
		"logged out": func(b *browser, _ *fakeUsers) { b.srv.logins.endUser("ann") },
		"user removed": func(b *browser, users *fakeUsers) {
			users.change("ann", func(*shared.UserFact) (*shared.UserFact, error) { return nil, nil })
		},
		"role taken": func(b *browser, users *fakeUsers) {
			users.change("ann", func(u *shared.UserFact) (*shared.UserFact, error) {
				u.Role = Read.String()
				return u, nil
			})
		},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { endOfStream(t, take) })
		})
	}
}

func endOfStream(t *testing.T, take func(*browser, *fakeUsers)) {
	b, users, _ := newLocal(t, func(o *Options) { o.Now = time.Now })
	b.srv.Passwords.Book = access.NewBook(users, time.Now)
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Activity = status.Running
	b.daemon.jobs[0].Progress = &status.Progress{Phase: status.Retrieving, Done: 17}
	b.want(http.StatusSeeOther, "/", "/login", entering("ann", annsPassword))
	var got string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		got = b.do("/jobs/job0000/live", nil).Body.String()
	}()
	time.Sleep(time.Minute) // in a bubble
	select {
	case <-ended:
		t.Fatal("the stream ended by itself")
	default:
	}
	take(b, users)
	time.Sleep(5 * time.Second) // in a bubble
	select {
	case <-ended:
	default:
		t.Error("the stream continues without its login")
		b.srv.Close()
		<-ended
	}
	if !strings.HasSuffix(got, "event: over\ndata:\n\n") {
		t.Errorf("it ends with %q", got[max(0, len(got)-60):])
	}
}

// The end of the console ends live streams.
func TestStreamsEnd(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Activity = status.Running
	b.login(Read)
	b.srv.Close()
	if got := b.do("/jobs/job0000/live", nil).Body.String(); strings.Contains(got, "event: over") {
		t.Errorf("the run is over: %q", got)
	}
}

// There are so many live pages at a time; one more says so.
func TestMostStreams(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Activity = status.Running
	b.login(Read)
	for range mostStream {
		b.srv.live.listeners <- struct{}{}
	}
	b.want(http.StatusServiceUnavailable, "too many pages are live now", "/jobs/job0000/live", nil)
}
