// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"time"
)

// Window is the part of each day in which requests may be made. The empty window is always open.
type Window []Span

// Span is a part of a day in minutes since midnight; From 0..1439, To 1..1440. A span with To <= From goes
// over midnight.
type Span struct{ From, To int }

// ParseWindow reads "00:00-06:00" or several such spans with commas between them; "22:00-06:00" goes over
// midnight.
func ParseWindow(s string) (Window, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var w Window
	for part := range strings.SplitSeq(s, ",") {
		from, to, ok := strings.Cut(part, "-")
		a, okA := parseClock(strings.TrimSpace(from), 1439)
		b, okB := parseClock(strings.TrimSpace(to), 1440)
		if !ok || !okA || !okB {
			return nil, problemf(`windows look like "00:00-06:00" or "22:00-06:00,12:00-13:00"`, "%q is not a window",
				strings.TrimSpace(part))
		}
		if a == b%1440 {
			return nil,
				problemf("leave window out for the whole day", "window %q has no length", strings.TrimSpace(part))
		}
		if len(w) == 48 {
			return nil, problemf("", "window has more than 48 spans")
		}
		w = append(w, Span{a, b})
	}
	return w, nil
}

func parseClock(s string, most int) (minutes int, ok bool) {
	if s == "24:00" {
		return 1440, most == 1440
	}
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err == nil && len(s) == 5
}

// Open reports whether t is in the window, by the wall clock of t's location.
func (w Window) Open(t time.Time) bool {
	if len(w) == 0 {
		return true
	}
	m := t.Hour()*60 + t.Minute()
	for _, s := range w {
		if (s.From < s.To && s.From <= m && m < s.To) || (s.From >= s.To && (m >= s.From || m < s.To)) {
			return true
		}
	}
	return false
}

// Change returns the first full minute after t at which Open has another answer, in t's location: when an
// open window closes, or when a closed one opens. It is the zero time when that never happens. It steps
// through real time, so that a clock change moves it.
func (w Window) Change(t time.Time) time.Time {
	now := w.Open(t)
	next := t.Truncate(time.Minute)
	for range 2 * 24 * 60 {
		next = next.Add(time.Minute)
		if w.Open(next) != now {
			return next
		}
	}
	return time.Time{}
}
