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
	last  status.Progress
}

func newProgress(out io.Writer, draw bool) *progress {
	p := &progress{}
	if draw {
		p.out = out
	}
	return p
}

// update returns the callback for a run, nil when nothing is to be drawn.
func (p *progress) update() func(status.Progress) {
	if p.out == nil {
		return nil
	}
	return func(now status.Progress) {
		p.mu.Lock()
		defer p.mu.Unlock()
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
func progressLine(last, now status.Progress) string {
	var b strings.Builder
	if now.Phase == status.Relocating || now.Phase == status.Publishing {
		return fmt.Sprintf("%s %d of %d files", now.Phase, now.Relocated, now.Total)
	}
	fmt.Fprintf(&b, "%d done, %d queued", now.Done, now.Queued)
	if dt := (now.Elapsed - last.Elapsed).Seconds(); dt > 0 && now.Done >= last.Done {
		fmt.Fprintf(&b, ", %.0f/s", float64(now.Done-last.Done)/dt)
	}
	fmt.Fprintf(&b, ", %s", mirror.Bytes(now.Bytes))
	if now.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", now.Failed)
	}
	if len(now.Down) > 0 {
		fmt.Fprintf(&b, ", %s does not answer", now.Down[0])
	}
	b.WriteString(waitingText(now))
	if s := []rune(b.String()); len(s) > maxLine {
		return string(s[:maxLine-1]) + "…"
	}
	return b.String()
}

// waitingText says what a run waits for, "" when for nothing.
func waitingText(now status.Progress) string {
	wait := now.WaitFor.Round(time.Second)
	switch {
	case now.WaitWhy == status.ForTurn:
		return ", waiting for a turn"
	case now.WaitWhy == status.ForSlow:
		return ", waiting for answers of " + now.WaitHost
	case now.WaitHost == "" || now.InFlight > 0 || now.WaitFor < time.Second: // the ordinary gap
		return ""
	case now.WaitWhy == status.ForWindow:
		return fmt.Sprintf(", waiting %s for the window", wait)
	}
	return fmt.Sprintf(", waiting %s for %s", wait, now.WaitHost)
}
