// SPDX-License-Identifier: Apache-2.0

package places

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a reader that takes nothing until it is released, and keeps what it took.
type slow struct {
	httptest.ResponseRecorder
	ready chan struct{}
	over  chan struct{} // the deadline has passed

	mu    sync.Mutex
	timer *time.Timer
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
	s.timer = time.AfterFunc(time.Until(t), func() {
		select {
		case s.over <- struct{}{}:
		default:
		}
	})
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-s.ready:
		return s.ResponseRecorder.Write(p)
	case <-s.over:
		return 0, errors.New("deadline exceeded")
	}
}

func newSlow() *slow {
	return &slow{
		ResponseRecorder: *httptest.NewRecorder(),
		ready:            make(chan struct{}),
		over:             make(chan struct{}, 1),
		timer:            time.AfterFunc(time.Hour, func() {}),
	}
}

// Who does not read keeps no place, for bodies with and without room aside, and is disconnected.
func TestUnread(t *testing.T) {
	body := make([]byte, 3*inMemory)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(body)
	for _, limit := range []int64{inMemory + mostDisk, inMemory, 1000} {
		synctest.Test(t, func(t *testing.T) {
			p := New(1, time.Second)
			out := newSlow()
			first, err := p.Take(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			end := make(chan error)
			go func() {
				_, err := first.send(t.Context(), out, limit, func(w io.Writer) error {
					_, err := io.Copy(w, bytes.NewReader(body))
					return err
				})
				first.Release()
				end <- err
			}()
			synctest.Wait()
			if _, err := p.Take(t.Context(), "ann"); err != ErrOwn {
				t.Errorf("another one of the same client: %v", err)
			}
			second, err := p.Take(t.Context(), "bob")
			if err != nil {
				t.Fatalf("the place of who does not read: %v", err)
			}
			if _, err := p.Take(t.Context(), ""); err != ErrBusy {
				t.Errorf("a place that is taken: %v", err)
			}
			second.Release()
			close(out.ready)
			if err := <-end; err != nil || !bytes.Equal(out.Body.Bytes(), body) {
				t.Errorf("limit %d: %d bytes came, %v", limit, out.Body.Len(), err)
			}
			again, err := p.Take(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if begun, err := again.send(t.Context(), newSlow(), limit, func(w io.Writer) error {
				_, err := w.Write(body)
				return err
			}); err == nil || !begun || time.Since(began) != pieceTime {
				t.Errorf("limit %d: after %v: begun %t, %v", limit, time.Since(began), begun, err)
			}
			again.Release()
		})
	}
}

// What goes wrong before the first byte can be another answer, and a client who leaves ends the work.
func TestErrors(t *testing.T) {
	p, bad := New(1, time.Second), errors.New("bad")
	x, _ := p.Take(t.Context(), "")
	w := httptest.NewRecorder()
	if begun, err := x.Send(t.Context(), w, func(io.Writer) error { return bad }); begun || err != bad {
		t.Errorf("begun %t, %v", begun, err)
	}
	if w.Header().Get("Connection") != "" {
		t.Error("the connection of another answer is closed")
	}
	x.Release()
	x, err := p.Take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancelCause(t.Context())
	_, err = x.Send(ctx, newSlow(), func(w io.Writer) error {
		leave(bad)
		for {
			if _, err := w.Write(make([]byte, piece)); err != nil {
				return err
			}
		}
	})
	if err != bad {
		t.Errorf("a client who left: %v", err)
	}
	x.Release()
}

// An answer may take longer than its request: a long transfer does not end with the time to read that.
func TestLong(t *testing.T) {
	p := New(1, time.Second)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, err := p.Take(r.Context(), "")
		if err != nil {
			t.Error(err)
			return
		}
		defer x.Release()
		_, err = x.Send(r.Context(), w, func(w io.Writer) error {
			time.Sleep(300 * time.Millisecond) // longer than the server gives a request
			_, err := io.WriteString(w, "whole")
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}))
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	defer s.Close()
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "whole" {
		t.Errorf("%q, %v", b, err)
	}
}

var _ http.ResponseWriter = (*slow)(nil)
