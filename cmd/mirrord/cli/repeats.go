// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
)

// sayAgain is after how long a warning is logged again that comes as it was: a state that cannot be written
// is tried every few seconds, for days.
const sayAgain = time.Hour

// MostSaid is how many warnings are remembered.
const MostSaid = 1000

// Repeats is a slog.Handler that passes a warning or an error on once in sayAgain while it comes again with
// the same attributes. The field repeated says how many were left out before it.
type Repeats struct {
	slog.Handler
	under string // what WithAttrs and WithGroup have added
	Said  *saidLines
}

// saidLines are the warnings of the last time, by their texts. It is safe for concurrent use.
type saidLines struct {
	mu  sync.Mutex
	All map[string]*saidLine
}

type saidLine struct {
	at   time.Time
	left int // not passed on since
}

func NewRepeats(h slog.Handler) *Repeats {
	return &Repeats{Handler: h, Said: &saidLines{All: map[string]*saidLine{}}}
}

func (s *Repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	var key strings.Builder
	fmt.Fprint(&key, s.under, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&key, " %s", a)
		return true
	})
	left, pass := s.Said.say(key.String(), r.Time)
	if !pass {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", left))
	}
	return s.Handler.Handle(ctx, r)
}

// say reports whether a line is to be passed on, and how many like it were not.
func (s *saidLines) say(key string, now time.Time) (left int, pass bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := func(l *saidLine) bool { return now.Sub(l.at) >= sayAgain || now.Before(l.at) }
	l := s.All[key]
	if l != nil && !over(l) {
		l.left++
		return 0, false
	}
	if l == nil {
		if len(s.All) >= MostSaid {
			maps.DeleteFunc(s.All, func(_ string, l *saidLine) bool { return over(l) })
		}
		if len(s.All) >= MostSaid {
			clear(s.All)
		}
		l = new(saidLine)
		s.All[key] = l
	}
	left = l.left
	l.at, l.left = now, 0
	return left, true
}

func (s *Repeats) WithAttrs(as []slog.Attr) slog.Handler {
	return &Repeats{s.Handler.WithAttrs(as), s.under + fmt.Sprint(as), s.Said}
}

func (s *Repeats) WithGroup(name string) slog.Handler {
	return &Repeats{s.Handler.WithGroup(name), s.under + name + ".", s.Said}
}
