// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"mirrord/app/access"
)

// How live parts of pages are sent: as server-sent events.
const (
	streamGap  = time.Second      // between two looks
	streamPing = 20 * time.Second // between two messages when nothing changes, to notice who has disconnected
	streamSend = 30 * time.Second // that a message may take
	mostStream = 1000             // listeners
)

// streams bounds the live parts of pages that are sent, and ends them. It is safe for concurrent use.
type streams struct {
	end       context.Context // of the console
	stop      context.CancelFunc
	listeners chan struct{} // one for each
}

func newStreams() *streams {
	end, stop := context.WithCancel(context.Background())
	return &streams{end: end, stop: stop, listeners: make(chan struct{}, mostStream)}
}

// errStreams says that there are too many listeners.
var errStreams = errors.New("too many pages are live now; reload this one from time to time")

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

// stream sends what look shows, as often as it changes, until look says that it changes no more, or the browser
// disconnects. The last message says that it is over.
func stream(v *visit, look func() (part []byte, over bool)) error {
	select {
	case v.live.listeners <- struct{}{}:
		defer func() { <-v.live.listeners }()
	default:
		return errStreams
	}
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Time{}) // a request for a stream is read as a whole
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	v.w.WriteHeader(http.StatusOK)
	tick := time.NewTicker(streamGap)
	defer tick.Stop()
	var shown []byte
	sent := time.Now() // the last message
	send := func(text string) bool {
		sent = time.Now()
		_ = rc.SetWriteDeadline(sent.Add(streamSend))
		_, err := v.w.Write([]byte(text))
		return err == nil && rc.Flush() == nil
	}
	for {
		part, over := look()
		switch {
		case part != nil && !bytes.Equal(part, shown):
			if shown = part; !send(event(part)) {
				return nil
			}
		case time.Since(sent) >= streamPing && !send(": still here\n\n"):
			return nil
		}
		if over {
			send("event: over\ndata:\n\n")
			return nil
		}
		select {
		case <-tick.C:
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
