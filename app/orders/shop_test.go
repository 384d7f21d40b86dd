// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// shop is where orders are placed in tests.
type shop struct {
	*testing.T
	*Orders
	o    Options
	st   *store.State
	stop func()

	mu   sync.Mutex
	gate chan struct{} // pages but the first wait for it; nil: they do not
	now  time.Time
	mail []string
	free int64
	head []http.Header // of the requests to the site
}

// asked returns the heads of the requests since the last call.
func (s *shop) asked() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.head
	s.head = nil
	return out
}

// page is what the site answers: /docs/N.html for N below 6, each linking to the next.
func (s *shop) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.head = append(s.head, r.Header.Clone())
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch n := 0; r.URL.Path {
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
	case "/away/":
		http.Redirect(w, r, "http://other.example/", http.StatusFound)
	default:
		if _, err := fmt.Sscanf(r.URL.Path, "/docs/%d.html", &n); err != nil && r.URL.Path != "/docs/" {
			http.NotFound(w, r)
			return
		}
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		if n > 0 && gate != nil {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
		}
		fmt.Fprintf(w, "<!DOCTYPE html><title>Page %d</title><p>This is page %d of the manual.", n, n)
		if n < 6 {
			fmt.Fprintf(w, "<a href=%d.html>next</a>", n+1)
		}
	}
}

func newShop(t *testing.T, change func(*Options)) *shop {
	t.Helper()
	s := &shop{
		T:    t,
		now:  time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		free: 1 << 40,
	}
	srv := httptest.NewServer(http.HandlerFunc(s.page))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	st, err := store.OpenState(dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s.st = st
	jobs := filepath.Join(t.TempDir(), "jobs")
	s.o = Options{
		App: &env.App{
			State:     func() (string, error) { return dir, nil },
			Jobs:      jobs,
			Log:       slog.New(slog.DiscardHandler),
			LookupEnv: func(string) (string, bool) { return "", false },
			Network:   mirrortest.OneServer{At: srv.Listener.Addr().String()},
		},
		Facts:   OnMachine(st),
		Silence: time.Hour, // pages may wait for the test
		Free: func() (int64, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.free, nil
		},
		Now: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.now
		},
		Mail: func(_ context.Context, to, subject, text string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.mail = append(s.mail, to+": "+subject+"\n"+text)
			if strings.HasPrefix(to, "refused") {
				return errors.New("550 no such user")
			}
			return nil
		},
	}
	if change != nil {
		change(&s.o)
	}
	s.start()
	return s
}

// start starts the work, as a start of the daemon does.
func (s *shop) start() {
	s.Helper()
	all, err := New(s.o)
	if err != nil {
		s.Fatal(err)
	}
	s.Orders = all
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Run(ctx)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	s.Cleanup(s.stop)
}

// hold lets pages wait until what it returns is called.
func (s *shop) hold() (open func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.gate = nil
		close(gate)
	})
}

// later moves the clock.
func (s *shop) later(d time.Duration) {
	s.mu.Lock()
	s.now = s.now.Add(d)
	s.mu.Unlock()
	s.tell()
}

func want(url string) Wish {
	return Wish{
		URL:   url,
		Scope: "directory",
		Files: 100,
		Size:  1e6,
		Delay: 250 * time.Millisecond,
		Forms: []string{"phm"},
	}
}

var ann = User{Name: "ann", Base: "https://mirrors.example"}

// until waits until an order is in a state, however long that takes on a busy machine.
func (s *shop) until(k OrderID, is ...State) Ordered {
	s.Helper()
	late := time.After(10 * time.Minute)
	for {
		x, err := s.Get(k)
		if err != nil {
			s.Fatal(err)
		}
		for _, st := range is {
			if x.State == st {
				return x
			}
		}
		if x.State.Ended() {
			s.Fatalf("order %s is %s, want %v: %s", k.Ref(), x.State, is, x.Why)
		}
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			s.Fatalf("order %s stays %s, want %v", k.Ref(), x.State, is)
		}
	}
}

// draft makes a draft and waits for its preview.
func (s *shop) draft(who User, w Wish) Ordered {
	s.Helper()
	x, err := s.Draft(who, w)
	if err != nil {
		s.Fatal(err)
	}
	return s.until(x.OrderID, Draft)
}

// fast lets orders make requests without gaps.
func (s *shop) fast() {
	s.Helper()
	l := s.Limits()
	l.Delay = 0
	if err := s.SetLimits(l); err != nil {
		s.Fatal(err)
	}
}

func quick(url string) Wish {
	w := want(url)
	w.Delay = 0
	return w
}

// placed places an order.
func (s *shop) placed(x Ordered, who User) Ordered {
	s.Helper()
	if err := s.PlaceOrder(x.OrderID, who, false); err != nil {
		s.Fatal(err)
	}
	x, err := s.Get(x.OrderID)
	if err != nil {
		s.Fatal(err)
	}
	return x
}
