// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mirrord/mirror"
	"mirrord/status"
)

// progress draws one line that is rewritten in place. It is safe for concurrent use.
type progress struct {
	out io.Writer // nil: nothing is drawn

	mu    sync.Mutex
	drawn bool
	last  mirror.Progress
}

func newProgress(out io.Writer, draw bool) *progress {
	p := &progress{}
	if draw {
		p.out = out
	}
	return p
}

// update returns the callback for a run, nil when nothing is to be drawn.
func (p *progress) update() func(mirror.Progress) {
	if p.out == nil {
		return nil
	}
	return func(now mirror.Progress) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if now.Final {
			return
		}
		fmt.Fprintf(p.out, "\r\x1b[K%s", progressLine(p.last, now))
		p.drawn, p.last = true, now
	}
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// maxLine keeps the line from wrapping, which would break rewriting it in place.
const maxLine = 79

// progressLine says where a run stands; the rate is that since the last line.
func progressLine(last, now mirror.Progress) string {
	var b strings.Builder
	if now.Phase != mirror.Retrieving {
		what := "relocating"
		if now.Phase == mirror.Publishing {
			what = "publishing"
		}
		fmt.Fprintf(&b, "%s %d of %d files", what, now.Relocated, now.Total)
		return b.String()
	}
	fmt.Fprintf(&b, "%d done, %d queued", now.Done, now.Queued)
	if dt := (now.Elapsed - last.Elapsed).Seconds(); dt > 0 && now.Done >= last.Done {
		fmt.Fprintf(&b, ", %.0f/s", float64(now.Done-last.Done)/dt)
	}
	fmt.Fprintf(&b, ", %s", mirror.Bytes(now.Bytes))
	if now.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", now.Failed)
	}
	// shorter waits are the ordinary gap
	if now.WaitHost != "" && now.InFlight == 0 && now.WaitFor >= time.Second {
		fmt.Fprintf(&b, ", waiting %s for %s", now.WaitFor.Round(time.Second), now.WaitHost)
	}
	if s := []rune(b.String()); len(s) > maxLine {
		return string(s[:maxLine-1]) + "…"
	}
	return b.String()
}

// progressFrom is the progress of a daemon's run as the engine would say it.
func progressFrom(p *status.Progress) mirror.Progress {
	phase := mirror.Retrieving
	switch p.Phase {
	case "relocating":
		phase = mirror.Relocating
	case "publishing":
		phase = mirror.Publishing
	}
	return mirror.Progress{
		Phase:     phase,
		Elapsed:   p.Elapsed,
		Done:      p.Done,
		Queued:    p.Queued,
		InFlight:  p.InFlight,
		Failed:    p.Failed,
		Bytes:     p.Bytes,
		WaitHost:  p.WaitHost,
		WaitFor:   p.WaitFor,
		Relocated: p.Relocated,
		Total:     p.Total,
	}
}
