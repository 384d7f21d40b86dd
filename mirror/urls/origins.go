// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"maps"
	"slices"
	"sync"
)

// originsFact is where a site keeps its SilentOrigins.
const originsFact = "origins"

// An origin that is no entry point's is written off after WrittenOffAfter runs without any answer. From then
// on one run of WrittenOffRuns requests it.
const (
	WrittenOffAfter = 3
	WrittenOffRuns  = 8
)

const (
	mostOrigins     = 10_000 // of a site; further ones are requested by every run
	originForgotten = 3 * WrittenOffRuns
)

// SilentOrigin is what a site knows of an origin that gave no answer.
type SilentOrigin struct {
	Runs  int   `json:"runs"`  // in a row, in which it was requested
	Asked int   `json:"asked"` // number of the last of them
	Since int64 `json:"since"` // of the first of them, in Unix seconds
}

// SilentOrigins are the origins that gave no answer when they were last requested. They outlive the run. Safe
// for concurrent use; the zero value is ready.
type SilentOrigins struct {
	mu     sync.Mutex
	silent map[string]SilentOrigin
}

// OriginTurn says whether URLs of an origin are requested in a run.
type OriginTurn uint8

const (
	OriginAsked   OriginTurn = iota // as any other
	OriginProbed                    // one of them, and the others when it answers
	OriginSkipped                   // none: the origin is written off
)

// Turn says whether URLs of an origin are requested in a run, and for how many runs it was silent.
func (o *SilentOrigins) Turn(origin string, run int) (t OriginTurn, runs int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.silent[origin]
	switch {
	case s.Runs < WrittenOffAfter:
		return OriginAsked, s.Runs
	case s.Asked == run, run-s.Asked >= WrittenOffRuns: // also a run that is resumed
		return OriginProbed, s.Runs
	}
	return OriginSkipped, s.Runs
}

// AnyProbed reports whether a run probes some origin.
func (o *SilentOrigins) AnyProbed(run int) bool {
	o.mu.Lock()
	origins := slices.Collect(maps.Keys(o.silent))
	o.mu.Unlock()
	return slices.ContainsFunc(origins, func(origin string) bool {
		t, _ := o.Turn(origin, run)
		return t == OriginProbed
	})
}

// WrittenOff returns the origins that are written off, by name.
func (o *SilentOrigins) WrittenOff() (out []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for origin, s := range o.silent {
		if s.Runs >= WrittenOffAfter {
			out = append(out, origin)
		}
	}
	slices.Sort(out)
	return out
}

// EndRun takes in which origins a whole run requested in vain; heard reports whether one answered. A run that
// is resumed counts once.
func (o *SilentOrigins) EndRun(run int, now int64, silent []string, heard func(origin string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.silent, func(origin string, s SilentOrigin) bool {
		return heard(origin) || run-s.Asked >= originForgotten // nothing links there now
	})
	for _, origin := range silent {
		s, known := o.silent[origin]
		switch {
		case !known && len(o.silent) >= mostOrigins, known && s.Asked == run:
			continue
		case !known:
			s.Since = now
		}
		s.Runs, s.Asked = s.Runs+1, run
		if o.silent == nil {
			o.silent = map[string]SilentOrigin{}
		}
		o.silent[origin] = s
	}
}

// Load takes what Keep stored in an earlier run.
func (o *SilentOrigins) Load(f Facts) (err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent, _, err = ReadFact[map[string]SilentOrigin](f, originsFact)
	return err
}

// Keep stores the origins for the next run.
func (o *SilentOrigins) Keep(f Facts) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return WriteFact(f, originsFact, o.silent)
}
