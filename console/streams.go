// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"mirrord/app/access"
)

// How live parts of pages are sent: as server-sent events. A part that many users see is drawn once.
const (
	streamGap  = time.Second      // between two looks
	streamPing = 20 * time.Second // between two messages when nothing changes, to notice who has disconnected
	streamSend = 30 * time.Second // that a message may take
	mostStream = 1000             // listeners
)

// streams sends the live parts of pages to their viewers. It is safe for concurrent use.
type streams struct {
	end  context.Context // of the console
	stop context.CancelFunc
	gap  time.Duration

	mu     sync.Mutex
	topics map[string]*topic
	n      int // listeners
	group  sync.WaitGroup
}

// topic is one live part.
type topic struct {
	now     []byte        // the part shown; nil before the first look
	over    bool          // it no longer changes
	changed chan struct{} // closed when now or over change
	n       int           // listeners
}

func newStreams(gap time.Duration) *streams {
	end, stop := context.WithCancel(context.Background())
	return &streams{
		end:    end,
		stop:   stop,
		gap:    gap,
		topics: map[string]*topic{},
	}
}

// errStreams says that there are too many listeners.
var errStreams = errors.New("too many pages are live now; reload this one from time to time")

// join makes a listener of a topic. The first one starts to look; look says what to show, and that it
// no longer changes.
func (s *streams) join(key string, look func() (part []byte, over bool)) (*topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= mostStream || s.end.Err() != nil {
		return nil, errStreams
	}
	t := s.topics[key]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		s.topics[key] = t
		s.group.Go(func() { s.follow(key, t, look) })
	}
	t.n++
	s.n++
	return t, nil
}

// leave ends a listener.
func (s *streams) leave(t *topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.n--
	s.n--
}

// follow looks at a topic until it is over or has no listener.
func (s *streams) follow(key string, t *topic, look func() ([]byte, bool)) {
	tick := time.NewTicker(s.gap)
	defer tick.Stop()
	for {
		part, over := look()
		s.mu.Lock()
		if over || !bytes.Equal(part, t.now) {
			t.now, t.over = part, over
			close(t.changed)
			t.changed = make(chan struct{})
		}
		ends := over || t.n == 0 || s.end.Err() != nil
		if ends {
			delete(s.topics, key)
		}
		s.mu.Unlock()
		if ends {
			return
		}
		select {
		case <-tick.C:
		case <-s.end.Done():
		}
	}
}

// seen is what a topic shows now, and what tells of the next change.
func (s *streams) seen(t *topic) (now []byte, over bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.now, t.over, t.changed
}

// close ends all streams and waits for the looks.
func (s *streams) close() {
	s.stop()
	s.group.Wait()
}

// errAnother says that the viewer of a live page is logged out, or has another role now.
var errAnother = errors.New("the login or its role is another one now")

// lasting is a page that is sent for a long time. It ends soon after the login of its reader, or his role.
func lasting(page func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		r := v.r
		ctx, end := access.While(r.Context(), func() error {
			if v.account(r) != v.who {
				return errAnother
			}
			return nil
		})
		defer end()
		v.r = r.WithContext(ctx)
		return page(v)
	}
}

// stream sends a topic until it is over, or the browser disconnects. The last message says that it is over.
func stream(v *visit, key string, look func() ([]byte, bool)) error {
	t, err := v.live.join(key, look)
	if err != nil {
		return err
	}
	defer v.live.leave(t)
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Time{}) // a request for a stream is read as a whole
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	v.w.WriteHeader(http.StatusOK)
	ping := time.NewTicker(streamPing)
	defer ping.Stop()
	var sent []byte
	send := func(text string) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(streamSend))
		_, err := v.w.Write([]byte(text))
		return err == nil && rc.Flush() == nil
	}
	for {
		now, over, changed := v.live.seen(t)
		if now != nil && !bytes.Equal(now, sent) && !send(event(now)) {
			return nil
		}
		sent = now
		if over {
			send("event: over\ndata:\n\n")
			return nil
		}
		select {
		case <-changed:
		case <-ping.C:
			if !send(": still here\n\n") {
				return nil
			}
		case <-v.r.Context().Done():
			if errors.Is(context.Cause(v.r.Context()), errAnother) {
				send("event: over\ndata:\n\n")
			}
			return nil
		case <-v.live.end.Done():
			return nil
		}
	}
}

// event is a part of a page as a server-sent event.
func event(part []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(part)) {
		b.WriteString("data: " + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// part draws a part of a page.
func (s *Server) part(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := s.pages.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// overPage makes a page reload itself when what was live is over.
func overPage(v *visit) error {
	v.w.Header().Set("HX-Refresh", "true")
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}
