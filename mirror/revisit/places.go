// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"mirrord/internal/volatile"
	"mirrord/site"
	"mirrord/store"
)

// A part of a page that is drawn by lot for each answer, a quote or a list of articles, makes a change of the
// page in each run, and of all pages that have it. So a few pages that changed each time are requested twice
// in a run: at the places where the two answers differ, a difference says nothing.

// Learning of places.
const (
	mostTwice   = 2   // pages of a run that are requested twice
	surePages   = 2   // times that two answers differed at a place until it is known
	placeRuns   = 64  // runs after which a place is forgotten, and learned again
	mostPlaces  = 256 // that are remembered
	mostIdle    = 5   // the binary logarithm of the runs after which it is tried again, at most
	changedLast = 3   // looks in a row at which a page changed that is requested twice, this one included
)

// PlacesFact is where a site keeps the places at which its answers differ.
const PlacesFact = "places"

// placesFact is the value of PlacesFact.
type placesFact struct {
	Idle   int           `json:"idle"`  // runs in a row that requested pages twice and saw no place
	Tried  int           `json:"tried"` // the last of these runs
	Places []placeOfFact `json:"places"`
}

type placeOfFact struct {
	Place volatile.Spot `json:"place"`
	Seen  int           `json:"seen"` // times that two answers differed there
	Run   int           `json:"run"`  // when that was last seen
}

// Places knows at which places of the pages of a site each answer is another one. Safe for concurrent use,
// but for Read.
type Places struct {
	run   int
	ripe  atomic.Bool // some page waits
	known atomic.Pointer[[]volatile.Spot]

	mu      sync.Mutex
	fact    placesFact
	asked   int // pages
	saw     bool
	waiting []*Twice
}

// Twice is a page that is to be requested once more.
type Twice struct {
	URL  site.URL
	body []byte
}

// NewPlaces returns the places of a run of which nothing is known.
func NewPlaces(run int) *Places { return &Places{run: run} }

// Read takes what Fact of earlier runs returned. After an error nothing is known.
func (p *Places) Read(fact []byte) error {
	if len(fact) == 0 {
		return nil
	}
	if err := json.Unmarshal(fact, &p.fact); err != nil {
		p.fact = placesFact{}
		return err
	}
	p.fact.Places = slices.DeleteFunc(p.fact.Places, func(f placeOfFact) bool {
		return f.Run+placeRuns <= p.run
	})
	p.publish()
	return nil
}

// publish makes the learned places known.
func (p *Places) publish() {
	var sure []volatile.Spot
	for _, f := range p.fact.Places {
		if f.Seen >= surePages {
			sure = append(sure, f.Place)
		}
	}
	slices.Sort(sure)
	p.known.Store(&sure)
}

// Known returns the places that are known, sorted. The caller does not change them.
func (p *Places) Known() []volatile.Spot {
	if known := p.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Changed says that a page of the mirror came with another body, in more than the places known to vary. rec
// is its record before.
func (p *Places) Changed(rec *store.Resource, body []byte) {
	const always = 1<<(changedLast-1) - 1
	if (rec.Recent&always != always) || len(body) > volatile.MaxBody {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	early := p.run < p.fact.Tried+1<<min(p.fact.Idle, mostIdle)
	if (p.asked+len(p.waiting) == mostTwice) || early {
		return
	}
	p.waiting = append(p.waiting, &Twice{URL: rec.URL, body: bytes.Clone(body)})
	p.ripe.Store(true)
}

// Question returns a page of an origin that is to be requested once more, now; of any origin when it is "".
func (p *Places) Question(origin string) (q *Twice, ok bool) {
	if !p.ripe.Load() {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.waiting, func(q *Twice) bool { return origin == "" || q.URL.Origin() == origin })
	if i < 0 {
		return nil, false
	}
	q = p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.asked++
	p.ripe.Store(len(p.waiting) > 0)
	return q, true
}

// Answered takes the body of the second answer, and returns whether places are known now that were not.
func (p *Places) Answered(q *Twice, again []byte) (learned bool) {
	at := volatile.Apart(q.body, again)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, place := range at {
		p.saw = true
		i := slices.IndexFunc(p.fact.Places, func(f placeOfFact) bool { return f.Place == place })
		if i < 0 {
			if len(p.fact.Places) == mostPlaces {
				continue
			}
			i = len(p.fact.Places)
			p.fact.Places = append(p.fact.Places, placeOfFact{Place: place})
		}
		f := &p.fact.Places[i]
		f.Seen, f.Run = f.Seen+1, p.run
		learned = learned || f.Seen == surePages
	}
	if learned {
		p.publish()
	}
	return learned
}

// Fact returns what to store as PlacesFact: as it was when this run tried nothing.
func (p *Places) Fact() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fact
	if p.asked > 0 && f.Tried != p.run {
		f.Tried = p.run
		if f.Idle++; p.saw {
			f.Idle = 0
		}
	}
	if (f.Tried == 0) && len(f.Places) == 0 {
		return nil, nil
	}
	slices.SortFunc(f.Places, func(a, b placeOfFact) int { return cmp.Compare(a.Place, b.Place) })
	return json.Marshal(f)
}
