package mirror

import (
	"math/bits"

	"mirrord/site"
	"mirrord/store"
)

// What a run has found out about a URL: entry.seen. A URL without any of these was not observed, which is not the same as unchanged.
const (
	seenAsked   = 1 << iota // the site answered
	seenSpared              // unchanged by evidence
	seenChanged             // another body
	seenEntered
	seenLeft
	seenNamed   // a document links to it; not noted of all, and no observation
	seenGuess   // a string in a script names it; no observation either
	seenSkipped // the plan spared it; nor is this one
)

// seenOf returns what a record of this run says. was says whether the URL was in the mirror before.
func seenOf(rec *store.Resource, was bool) (s uint8) {
	switch rec.Outcome {
	case site.Fetched, site.Redirected, site.Gone:
		s = seenAsked
	case site.Unchanged:
		if s = seenAsked; rec.Status == 0 {
			s = seenSpared
		}
	case site.Disallowed:
		if rec.Status != 0 {
			s = seenAsked
		}
	}
	switch {
	case was && !rec.InSet:
		s |= seenLeft
	case !was && rec.InSet:
		s |= seenEntered
	case was && rec.Outcome == site.Fetched && rec.Recent&1 != 0:
		s |= seenChanged
	}
	return s
}

// rateOf estimates how often a resource changes, from 0 to 255 times in 255 looks: (changes + 1/2) / (looks + 1) of its last 16, so that
// what was seldom looked at comes before what never changed in many.
func rateOf(rec *store.Resource) uint8 {
	looks := min(rec.Observed, 16)
	return uint8(255 * (2*bits.OnesCount16(rec.Recent) + 1) / (2*looks + 2))
}

// observe notes in the record of a body whether it is another one than before, and judges what the site said of the old one. only says that it
// differs in nothing but what may change by itself; now knows what that is then.
func (r *run) observe(now, old *store.Resource, only bool) {
	if !old.InSet || old.Body == store.NoBody || old.Digest == [32]byte{} {
		return
	}
	changed := old.Digest != now.Digest
	now.Observe(changed)
	if changed && !only {
		now.Volatile = old.Volatile.Broken()
		r.judgeValidators(now, old)
	}
}

// observations writes down what the run has observed. A partial run has observed what it asked. Written again, it takes the place of what was
// written before.
func (r *run) observations(j *judgement) error {
	o := store.Observation{Run: r.state.Number, Time: r.now().Unix(), Version: r.version, Complete: j.verdict == Complete && !r.o.NoFetch,
		Doubtful: j.verdict == Suspicious && !r.o.Accept}
	t := r.table
	any := false
	for id := uint32(0); id < t.n; id++ {
		s := t.at(id).seen
		if s&(seenAsked|seenSpared|seenChanged|seenEntered|seenLeft) == 0 {
			continue
		}
		any = true
		if s&seenEntered != 0 && s&seenLeft != 0 { // came and went
			s &^= seenEntered | seenLeft
		}
		for _, x := range [...]struct {
			bit uint8
			set *store.IDs
		}{{seenAsked, &o.Asked}, {seenSpared, &o.Spared}, {seenChanged, &o.Changed}, {seenEntered, &o.Entered}, {seenLeft, &o.Left}} {
			if s&x.bit != 0 {
				x.set.Add(id)
			}
		}
	}
	if !any {
		return nil
	}
	return r.site.AddObservation(&o)
}
