// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/internal/volatile"
	"mirrord/site"
	"mirrord/site/profile"
	"mirrord/store/record"
)

// What differs between two answers of one page at one moment is noise: a token of a form, a quote drawn by
// lot. So in a first run, and when pages of another template come, a few pages are requested twice. The
// positions at which the two differ are known for the site from then on: a page that differs only there from
// the stored one has not changed.

// Learning of positions.
const (
	leastTwice    = 8                // requests of a first run for second answers, or
	laterTwice    = 4                // of a later one, or
	twiceShare    = 100              // one of so many, where that is more
	firstTwice    = 2                // pages of a template that are requested twice,
	allTwice      = 8                // and of one of which two answers differed
	moreTwice     = 3                // more requests of a page that changed, when two answers do not tell why
	mostWaiting   = 16               // pages that wait for their second request
	mostShapes    = 1024             // templates that are remembered
	mostNoise     = 256              // positions that are remembered
	mostGaps      = 64               // of these, texts around what differs
	noiseRuns     = 64               // runs after which a position is forgotten that was not seen to differ
	shapeRuns     = 16               // runs after which two pages of a template are requested twice again
	mostRedirects = 256              // that are remembered
	mostIdle      = 5                // the binary logarithm of the runs after which that is tried, at most
	changedLast   = 3                // looks in a row at which a page changed that is then requested twice
	surePages     = 2                // pages on which words or a region differed until that is believed
	sureWide      = 3                // the same of a number whose neighbours vary
	sureGap       = 2                // URLs at which what stands between two texts differed, three times in all
	SecondsApart  = 2 * time.Second  // between two answers, at least, while the run has other things to request
	atOneMoment   = 60 * time.Second // and at most
)

// NoiseFact is where a site keeps the positions at which its answers differ.
const NoiseFact = "places"

// noiseFact is the value of NoiseFact.
type noiseFact struct {
	Idle      int                  `json:"idle"`  // runs in a row that requested changed pages twice in vain
	Tried     int                  `json:"tried"` // the last of these runs
	Shapes    []shapeFact          `json:"shapes,omitempty"`
	Positions []PositionFact       `json:"positions,omitempty"`
	Redirects []string             `json:"redirects,omitempty"` // that lead elsewhere in each answer
	Drawn     []uint64             `json:"drawn,omitempty"`     // texts of parts, see Edited
	News      []uint64             `json:"news,omitempty"`      // texts of edits, see InRegions
	Parts     map[string]*partFact `json:"parts,omitempty"`     // by URL: what may be an edit
}

// shapeFact is a template of which pages were requested twice.
type shapeFact struct {
	Shape  uint64 `json:"shape"`
	Asked  int    `json:"asked"`
	Unsure bool   `json:"unsure,omitempty"` // the last one had differences that are not yet believed
	Tags   bool   `json:"tags,omitempty"`   // its two answers said the same under different ETags
	Run    int    `json:"run"`              // the last one that did so

	came int // pages of this run that are of it, and not known to be as they were
}

// Noise knows at which positions of the pages of a site each answer is another one. Safe for concurrent use,
// but for Read.
type Noise struct {
	run      int
	given    volatile.Positions // by the profiles of the programs
	ripe     atomic.Bool        // some page waits
	compared atomic.Int32       // pages of this run, see IsUnseen
	known    atomic.Pointer[knownNoise]

	mu        sync.Mutex
	idle      int
	tried     int
	shapes    map[uint64]*shapeFact
	positions map[volatile.Position]*PositionFact
	asked     int // pages of this run
	again     int // of these, pages that changed each time
	looked    int // and pages that the mirror has but for noise
	saw       bool
	waiting   []*Twice
	redirects map[string]string // by URL: where the first answer of this run led, "" when it is known to vary
	lots      lots
	parts     map[string]*partFact
}

// NewNoise returns the noise of a site of which nothing was learned.
func NewNoise(run int) *Noise {
	return &Noise{
		run:       run,
		given:     volatile.Positions{},
		shapes:    map[uint64]*shapeFact{},
		positions: map[volatile.Position]*PositionFact{},
		redirects: map[string]string{},
		parts:     map[string]*partFact{},
		lots:      lots{looks: map[string]*look{}},
	}
}

// Read takes what Fact of earlier runs returned. After an error that is nothing.
func (p *Noise) Read(fact []byte) error {
	var f noiseFact
	if len(fact) == 0 {
		return nil
	}
	if err := json.Unmarshal(fact, &f); err != nil {
		return err
	}
	p.idle, p.tried, p.lots.drawn, p.lots.news = f.Idle, f.Tried, f.Drawn, f.News
	maps.Copy(p.parts, f.Parts)
	for i := range f.Shapes {
		if s := &f.Shapes[i]; s.Run+shapeRuns > p.run {
			p.shapes[s.Shape] = s
		}
	}
	for i := range f.Positions {
		if f := &f.Positions[i]; f.Run+noiseRuns > p.run {
			p.positions[f.Position] = f
		}
	}
	for _, u := range f.Redirects {
		p.redirects[u] = ""
	}
	p.publish()
	return nil
}

// give takes what profiles name as noise.
func (p *Noise) give(named []profile.Between) {
	for _, n := range named {
		at, what := volatile.Between(n.Before, n.After)
		p.given[at] = what
	}
	p.publish()
}

// All returns what was learned about all positions, for a person.
func (p *Noise) All() (out []PositionFact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.positions {
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b PositionFact) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Position, b.Position))
	})
	return out
}

// How is what a page was found to be beside the stored one.
type How uint8

// A page of the mirror that is the same but for noise has its template looked at again from time to time, and
// one that is another has that done at once.
const (
	IsNew How = iota
	IsKept
	IsOther
)

// Came says that a page came that a program may have made.
func (p *Noise) Came(a PageAnswer, how How) {
	if len(a.Body) > volatile.MaxBody {
		return
	}
	shape := shapeOf(a.URL, a.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shapes[shape]
	if how == IsKept {
		if s != nil || p.looked == firstTwice {
			return
		}
		p.looked++
	}
	if s == nil {
		if len(p.shapes) == mostShapes {
			return
		}
		s = &shapeFact{Shape: shape, Run: p.run}
		p.shapes[shape] = s
	}
	s.came++
	waits := s.Asked
	for _, q := range p.waiting {
		if q.shape == shape {
			waits++
		}
	}
	if waits < firstTwice || ((s.Unsure || how == IsOther) && waits < allTwice) {
		if a.Tag == "" && !volatile.HasPlaces(a.Body) { // a second answer teaches nothing
			s.Asked++
			return
		}
		q := newTwice(a, shape, waits)
		if how == IsOther {
			q.more = moreTwice
		}
		p.wait(q)
	}
}

// Suspect takes a page that changed although its validators stayed the same, with its stored body: what a
// second answer does not explain is no noise, see Twice.Blames.
func (p *Noise) Suspect(a PageAnswer) {
	q := newTwice(a, shapeOf(a.URL, a.Body), 0)
	q.suspect = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(w *Twice) bool { return w.URL == a.URL })
	p.wait(q)
}

// wait puts a page among those that are to be requested twice. When they are many the least urgent one goes.
// The caller holds mu.
func (p *Noise) wait(q *Twice) {
	if len(p.waiting) >= mostWaiting {
		i, last := 0, p.waiting[0]
		for k, w := range p.waiting {
			if w.urgent >= last.urgent {
				i, last = k, w
			}
		}
		if last.urgent <= q.urgent {
			return
		}
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	q.Body, q.Was = bytes.Clone(q.Body), bytes.Clone(q.Was)
	p.waiting = append(p.waiting, q)
	p.ripe.Store(true)
}

// Changed says that a page of the mirror came with another body, in more than is known to vary. rec is its
// record before.
func (p *Noise) Changed(rec *record.Resource, a PageAnswer) {
	const always = 1<<(changedLast-1) - 1
	if len(a.Body) > volatile.MaxBody || rec.Recent&always != always {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	early := p.run < p.tried+1<<min(p.idle, mostIdle)
	waits := slices.ContainsFunc(p.waiting, func(q *Twice) bool { return q.URL == rec.URL })
	if p.again == firstTwice || early || waits {
		return
	}
	p.again++
	p.wait(newTwice(a, shapeOf(a.URL, a.Body), 0))
}

// Question returns a page of an origin that is to be requested once more, now; of any origin, and without
// waiting, when it is "". So many requests were made.
func (p *Noise) Question(origin string, requests int64, now time.Time) (q *Twice, ok bool) {
	if !p.ripe.Load() {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(q *Twice) bool { return now.Sub(q.At) > atOneMoment })
	best := -1
	for i, q := range p.waiting {
		may := origin == "" || (q.URL.Origin() == origin && now.Sub(q.At) >= SecondsApart)
		if may && (best < 0 || p.worth(q) > p.worth(p.waiting[best])) {
			best = i
		}
	}
	if best >= 0 && p.mayAsk(requests) {
		q, ok = p.waiting[best], true
		p.waiting = slices.Delete(p.waiting, best, best+1)
		p.asked++
	}
	p.ripe.Store(len(p.waiting) > 0)
	return q, ok
}

// mayAsk reports whether another page may be requested twice, after so many requests. Looks take half of the
// share at most. The caller holds mu.
func (p *Noise) mayAsk(requests int64) bool {
	least := leastTwice
	if p.run > 1 {
		least = laterTwice
	}
	return p.asked < max(least, int(requests/twiceShare)-p.lots.insisted)
}

// Answered takes the second answer, and returns whether positions are known now that were not. When that
// leaves a doubt, and no other page of the template waits, a third answer is to follow.
func (p *Noise) Answered(q *Twice, again PageAnswer) (learned bool) {
	found, ok := volatile.Apart(q.Body, again.Body, q.Was)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shapes[q.shape]; s != nil {
		s.Run = p.run
		s.Asked++
		s.Tags = (s.Tags || ok) && q.Tag != "" && again.Tag != "" && q.Tag != again.Tag
	}
	learned = p.tally(q, again.Body, found)
	if s := p.shapes[q.shape]; s != nil {
		s.Unsure = !ok || slices.ContainsFunc(found, p.unsure)
		other := slices.ContainsFunc(p.waiting, func(w *Twice) bool { return w.shape == q.shape })
		doubt := (s.Unsure && !other && len(found) > 0) || (!learned && q.more > 0)
		if doubt && s.Asked < allTwice {
			again.Was = q.Was
			next := newTwice(again, q.shape, s.Asked)
			next.more = q.more - 1
			p.wait(next)
		}
	}
	p.publish()
	return learned
}

// tally counts what differed in two answers, and what did not. The caller holds mu.
func (p *Noise) tally(q *Twice, again []byte, found []volatile.Variation) (learned bool) {
	p.same(q, again, found)
	p.compareParts(q, again)
	for i := range found {
		learned = p.differs(q, &found[i]) || learned
	}
	return learned
}

// same counts the positions that are known and did not differ in two answers. A clock shows the same within a
// second. The caller holds mu.
func (p *Noise) same(q *Twice, again []byte, found []volatile.Variation) {
	all := volatile.Positions{}
	for at, f := range p.positions {
		if !f.Clock {
			all[at] = f.At
		}
	}
	for _, d := range found {
		delete(all, d.Position)
	}
	for _, hit := range all.Masked(q.Body).Hits {
		if f := p.positions[hit.Position]; f.Kind != volatile.Gap || bytes.Contains(again, hit.Value) {
			f.Seen++ // else they differ between nearer texts, which both have by chance
		}
	}
}

// unsure reports whether a difference is not yet believed to be noise. The caller holds mu.
func (p *Noise) unsure(d volatile.Variation) bool {
	f := p.positions[d.Position]
	return f == nil || (!f.IsSure() && (f.Prose || f.Wide))
}

// differs counts a position at which two answers differed. The caller holds mu.
func (p *Noise) differs(q *Twice, d *volatile.Variation) (learned bool) {
	p.saw = true
	f := p.positions[d.Position]
	if f == nil {
		if len(p.positions) == mostNoise || (d.At.Kind == volatile.Gap && gaps(p.positions) == mostGaps) {
			return false
		}
		f = &PositionFact{Position: d.Position, At: d.At}
		f.Prose, f.Wide, f.Clock, f.Hidden, f.Counted = d.Prose, d.Wide, d.Clock, d.Hidden, d.Counted
		p.positions[d.Position] = f
	}
	was := f.IsSure()
	f.At = f.At.And(d.At)
	f.Pages, f.Seen, f.Differed, f.Run = f.Pages+1, f.Seen+d.Seen, f.Differed+d.Differed, p.run
	f.Where, f.Old, f.New, f.URL = d.Where, d.Old, d.New, q.URL.String()
	if !hasTwice(f.On, f.URL) {
		f.On = append(f.On, f.URL)
		f.On = f.On[max(len(f.On)-mostOn, 0):]
	}
	return f.IsSure() && !was
}

// Edited takes a page of which an answer differs from the stored one in its parts alone, and reports whether
// these were edited. Where that may be, and the page is due, it is requested again.
func (p *Noise) Edited(a PageAnswer, due bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.edited(a, due)
}

// InRegions takes a page of which an answer differs from the stored one in noise alone, after so many
// requests, and reports whether regions of it were edited, or whether it is to be requested again first.
func (p *Noise) InRegions(a PageAnswer, requests int64) (edited, waits bool) {
	known, l := p.regions(a.URL)
	if len(known) == 0 && l == nil {
		return false, false
	}
	was, is := known.Regions(a.Was), known.Regions(a.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if l == nil {
		l = p.lots.look(p.positions, was, is)
	}
	edited, waits = p.lots.settle(l, was, is, p.lots.mayLook(requests))
	delete(p.lots.looks, a.URL.String())
	if waits {
		a.Body, a.Was = bytes.Clone(a.Body), bytes.Clone(a.Was)
		l.PageAnswer = a
		p.lots.looks[a.URL.String()] = l
	}
	return edited, waits
}

// Again takes another answer of a page that waits. It counts for and against the positions.
func (p *Noise) Again(a PageAnswer) {
	known, l := p.regions(a.URL)
	if l == nil {
		return
	}
	found, _ := volatile.Apart(l.Body, a.Body, l.Was)
	was, is := known.Regions(l.Body), known.Regions(a.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	l.times++
	maps.DeleteFunc(l.at, func(at volatile.Position, x *lookAt) bool {
		return !p.lots.narrowed(x, was[at], is[at])
	})
	p.tally(&l.Twice, a.Body, found)
	p.publish()
}

// regions returns the regions of a page that were learned, and how it waits, if it does.
func (p *Noise) regions(u site.URL) (volatile.Positions, *look) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := volatile.Positions{}
	for at, is := range p.Known(u) {
		if is.Kind == volatile.Region && p.positions[at] != nil {
			out[at] = is
		}
	}
	return out, p.lots.looks[u.String()]
}

// Varies takes where a redirect leads that led elsewhere in the last run, in a first answer or in the second
// one of the same moment, and reports whether each answer is known to lead elsewhere.
func (p *Noise) Varies(u, to, had site.URL, second bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := u.String()
	first, ok := p.redirects[at]
	switch {
	case ok && first == "":
		return true
	case !second && to != had && len(p.redirects) < mostRedirects:
		p.redirects[at] = to.String()
	case second && ok && first != to.String():
		p.redirects[at] = ""
		return true
	}
	return false
}

// Fact returns what to store as NoiseFact: as it was when this run tried nothing.
func (p *Noise) Fact() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := noiseFact{
		Idle:  p.idle,
		Tried: p.tried,
		Drawn: p.lots.drawn,
		News:  p.lots.news,
		Parts: p.parts,
	}
	if p.again > 0 && f.Tried != p.run {
		f.Tried = p.run
		if f.Idle++; p.saw {
			f.Idle = 0
		}
	}
	for _, at := range slices.Sorted(maps.Keys(p.shapes)) {
		if s := p.shapes[at]; s.Asked > 0 {
			f.Shapes = append(f.Shapes, *s)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(p.positions)) {
		f.Positions = append(f.Positions, *p.positions[at])
	}
	for _, u := range slices.Sorted(maps.Keys(p.redirects)) {
		if p.redirects[u] == "" {
			f.Redirects = append(f.Redirects, u)
		}
	}
	if (f.Tried == 0) && len(f.Positions)+len(f.Shapes)+len(f.Redirects)+len(f.Parts)+len(f.Drawn) == 0 {
		return nil, nil
	}
	return json.Marshal(f)
}
