// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"testing"
	"time"

	"mirrord/testing/badserver"
)

func TestHTTP2(t *testing.T) {
	s := badserver.StartH2(t)
	tests := []struct {
		path string
		err  error
		hits int
	}{
		{"/ok", nil, 1},
		{"/goaway", nil, 2},
		{"/refused", nil, 2},
		{"/goaway-error", ErrReset, 1},
		{"/cut", ErrTruncated, 1},
		{"/rst", ErrReset, 1},
		{"/short", ErrTruncated, 1},
		{"/long", ErrProtocol, 1},
		{"/flood", ErrHeaderFlood, 1},
		{"/flood-huge", ErrProtocol, 1}, // net/http breaks off before it knows that the list is too long
		{"/bad-frame", ErrProtocol, 1},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			o := patient()
			o.CAFile = s.CA
			var m memory
			res, err := newClient(t, o).Do(context.Background(), Request{URL: mustURL(t, s.URL+tt.path)}, &m)
			if !errors.Is(err, tt.err) || s.Hits(tt.path) != tt.hits {
				t.Fatalf("%v after %d requests", err, s.Hits(tt.path))
			}
			if err == nil && m.String() != badserver.Page {
				t.Errorf("%q, %+v", m.String(), res)
			}
			if res.Kept != (err == nil) {
				t.Error("kept is wrong")
			}
		})
	}
}

// One stream of a connection falls silent while others continue: only it is ended.
func TestHTTP2StalledStream(t *testing.T) {
	s := badserver.StartH2(t)
	o := patient()
	o.CAFile, o.IdleTimeout = s.CA, 200*time.Millisecond
	c := newClient(t, o)
	stalled := make(chan error)
	go func() {
		_, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/stall")}, nil)
		stalled <- err
	}()
	for {
		select {
		case err := <-stalled:
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("the silent stream: %v", err)
			}
			return
		default:
		}
		if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, nil); err != nil {
			t.Fatalf("a good stream: %v", err)
		}
	}
}
