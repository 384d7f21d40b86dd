// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/mirror/result"
	"mirrord/scheduler/status"
)

// progress shows where a run stands: on a terminal one line that is rewritten in place, elsewhere a plain
// line every so often. It is safe for concurrent use.
type progress struct {
	out    io.Writer // nil: nothing is shown
	screen Screen
	name   string // of the job

	mu    sync.Mutex
	drawn bool
	next  time.Duration // of the run, when the next plain line is due
	// where the run stood; rates are those since the older one, which is some seconds old
	old, last status.Progress
}

// NewProgress returns what shows the progress of a run of a job; quiet shows nothing.
func NewProgress(a *CLI, name string, quiet bool) *progress {
	p := &progress{
		screen: a.Screen,
		name:   name,
		next:   firstPlain,
	}
	if !quiet {
		p.out = a.Stderr
	}
	return p
}

const (
	rateOver   = 2 * time.Second  // over how much of a run rates are taken, at least
	firstPlain = time.Minute      // into a run comes the first plain line; the next ones come at twice its time
	mostPlain  = 10 * time.Minute // between plain lines
)

// Update returns the callback for a run, nil when nothing is to be shown.
func (p *progress) Update() func(status.Progress) {
	if p.out == nil {
		return nil
	}
	return p.show
}

func (p *progress) show(now status.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Elapsed < p.last.Elapsed { // another run
		p.old, p.last, p.next = status.Progress{}, status.Progress{}, firstPlain
	}
	if !p.screen.Drawn {
		if now.Elapsed >= p.next {
			fmt.Fprintf(p.out, "%s\n", LineOf(p.name, p.last, now).Text(0, false))
			p.last = now
			p.next = now.Elapsed + min(now.Elapsed, mostPlain)
		}
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", LineOf(p.name, p.old, now).Text(p.screen.Width(), p.screen.Color))
	p.drawn = true
	if now.Elapsed-p.last.Elapsed >= rateOver {
		p.old, p.last = p.last, now
	}
}

// Clear takes the line away.
func (p *progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// ProgressLine says where a run stands, with its average rates.
func ProgressLine(now status.Progress) string {
	return LineOf("", status.Progress{}, now).Text(0, false)
}

// lastRank is the highest rank of a part.
const lastRank = 7

// line describes a run, most important first.
type line []linePart

// linePart is a part of a line. When the line is too long, parts with a higher rank go first. Those of rank 0
// and 1 stay.
type linePart struct {
	text  string
	rank  int
	color string // escape sequence that begins it, "" for none
}

// CutMark ends a line that was cut.
const CutMark = "..."

// Escape sequences of colours.
const (
	Bold    = "\x1b[1m"
	Red     = "\x1b[31m"
	Yellow  = "\x1b[33m"
	NoColor = "\x1b[0m"
)

// LineOf says where a run stands; the rates are those since then.
func LineOf(name string, then, now status.Progress) (l line) {
	add := func(rank int, color, format string, args ...any) {
		l = append(l, linePart{fmt.Sprintf(format, args...), rank, color})
	}
	if name != "" {
		add(1, Bold, "%s:", name)
	}
	defer func() { add(5, "", "%s", now.Elapsed.Round(time.Second)) }()
	if now.WaitWhy == status.ForTree {
		add(0, Yellow, "%s", now.Waiting())
		return l
	}
	if now.Phase == status.Relocating || now.Phase == status.Publishing {
		add(0, "", "%s %d of %d files", now.Phase, now.Relocated, now.Total)
		return l
	}
	add(0, "", "%d done", now.Done)
	add(2, "", "%d queued", now.Queued)
	if dt := (now.Elapsed - then.Elapsed).Seconds(); dt > 0 && now.Done >= then.Done {
		// a daemon of an older version counts neither requests nor bytes on their way
		if now.Requests > 0 {
			add(3, "", "%s req/s", rateText(float64(max(0, now.Requests-then.Requests))/dt))
		} else {
			add(3, "", "%s/s", rateText(float64(now.Done-then.Done)/dt))
		}
		came := max(now.Coming, now.Bytes) - max(then.Coming, then.Bytes)
		add(4, "", "%s/s", result.Bytes(int64(float64(max(0, came))/dt)))
	}
	add(lastRank, "", "%s", result.Bytes(max(now.Coming, now.Bytes)))
	switch {
	case now.Hosts == 1:
		add(6, "", "1 host")
	case now.Hosts > 1:
		add(6, "", "%d hosts", now.Hosts)
	}
	if now.Failed > 0 {
		add(2, Red, "%d failed", now.Failed)
	}
	if s := now.Waiting(); s != "" {
		add(1, Yellow, "%s", s)
	}
	return l
}

// rateText has two digits at least.
func rateText(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Text joins the parts, as many as fit; 0 is as many as there are.
func (l line) Text(width int, color bool) string {
	l = l.fitting(width)
	cut := width
	if l.length() <= width {
		cut = 0
	}
	var b strings.Builder
	left := cut
	for i, p := range l {
		s := l.separator(i) + p.text
		if cut > 0 {
			if n := []rune(s); len(n) >= left {
				s = string(n[:max(0, left-len(CutMark))]) + CutMark
			}
			left -= len([]rune(s))
		}
		if color && p.color != "" {
			s = p.color + s + NoColor
		}
		b.WriteString(s)
		if (cut > 0) && left <= 0 {
			break
		}
	}
	return b.String()
}

// fitting leaves parts out of a line that is too long, until it fits or only parts that must stay are left.
func (l line) fitting(width int) line {
	if width == 0 || l.length() <= width {
		return l
	}
	ranks := map[int]bool{0: true, 1: true}
	kept := func() line {
		return slices.DeleteFunc(slices.Clone(l), func(p linePart) bool { return !ranks[p.rank] })
	}
	for rank := 2; rank <= lastRank; rank++ {
		ranks[rank] = true
		if kept().length() > width {
			delete(ranks, rank)
		}
	}
	return kept()
}

// separator stands before a part.
func (l line) separator(i int) string {
	switch {
	case i == 0:
		return ""
	case strings.HasSuffix(l[i-1].text, ":"):
		return " "
	}
	return ", "
}

// length is how many characters the line has.
func (l line) length() (n int) {
	for i, p := range l {
		n += len([]rune(l.separator(i) + p.text))
	}
	return n
}
