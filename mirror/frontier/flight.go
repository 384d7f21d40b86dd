// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

// A request that waits for its header gives its turn to a URL that is known to answer, so early that what
// comes of that is known after one polite.timeout: the last third of it is the patience with that URL.
// It does so once in a run, when its origin answered nothing since it began and is not slow.
const (
	witnessShare = 1. / 3 // of polite.timeout
	slowShare    = 1. / 6 // an origin of which an answer took longer is slow
)

// ErrGaveWay is the cause with which the context of an exchange ends that gave its turn to a URL that is
// known to answer.
var ErrGaveWay = errors.New("no header yet, and nothing else of its server")

// GivenUp returns the class of failure of an exchange that was ended for itself; nil when the run ends.
func GivenUp(cause error) (class error) {
	switch cause {
	case ErrTrickles, ErrEndless:
		return fetch.ErrTooSlow
	case ErrGaveWay:
		return fetch.ErrTimeout
	}
	return nil
}

// Flight is a request under way. It belongs to one goroutine, but for Count.
type Flight struct {
	Body
	tail  *Tail
	t     *HostErrors
	u     site.URL
	heard int // answers of its origin when it began
	timer *time.Timer

	mu      sync.Mutex
	landed  bool
	gave    bool
	witness site.URL
}

// Fly notes a request that begins; the context is for its exchange. patient says that it does not give way.
// The caller calls Land afterwards.
func (d *Dispatcher) Fly(ctx context.Context, u site.URL, patient bool) (context.Context, *Flight) {
	f := &Flight{
		tail:  d.Tail,
		t:     d.HostErrors,
		u:     u,
		heard: d.HostErrors.fly(u, 1),
	}
	ctx = d.Tail.begin(ctx, &f.Body)
	if !patient {
		timeout := d.HostErrors.HeaderTimeout
		f.timer = time.AfterFunc(timeout-d.Patience(), f.look)
	}
	return ctx, f
}

// Patience is how long a URL that is known to answer has for it.
func (d *Dispatcher) Patience() time.Duration {
	return time.Duration(float64(d.HostErrors.HeaderTimeout) * witnessShare)
}

// look ends the request if it gives way.
func (f *Flight) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.landed || f.bytes.Load() > 0 {
		return
	}
	if f.witness, f.gave = f.t.giveWay(f.u, f.heard); f.gave {
		f.end(ErrGaveWay)
	}
}

// Land ends the flight. alone reports whether its origin answered nothing since it began.
func (f *Flight) Land() (alone bool) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.mu.Lock()
	f.landed = true
	f.mu.Unlock()
	f.tail.end(&f.Body)
	return f.t.fly(f.u, -1) == f.heard
}

// GaveWay reports whether the request was ended for that of a URL that is known to answer. err is how it
// ended.
func (f *Flight) GaveWay(err error) (witness site.URL, ok bool) {
	if f.gave && !errors.Is(err, ErrGaveWay) { // an answer came at the same time
		f.t.postponeWitness(f.u)
		return witness, false
	}
	return f.witness, f.gave
}

// fly adds to the requests of a URL that are under way, and returns how many answers its origin gave in this
// run.
func (t *HostErrors) fly(u site.URL, n int) (answers int) {
	t.on(u, func(k *trouble) {
		if k.flying == nil {
			k.flying = map[site.URL]int{}
		}
		if k.flying[u] += n; k.flying[u] <= 0 {
			delete(k.flying, u)
		}
		answers = k.answers
	})
	return answers
}

// giveWay reports whether a request that waits for its header gives its turn to a URL that is known to
// answer, and counts its silence then. heard is how many answers the origin had given when it began.
func (t *HostErrors) giveWay(u site.URL, heard int) (witness site.URL, ok bool) {
	t.on(u, func(k *trouble) {
		if k.down || k.doubt || k.probing || k.isCalm() || (k.answers > heard) {
			return
		}
		slow := float64(k.slowest) > slowShare*float64(t.HeaderTimeout)
		if k.answers == 0 { // it may be slow: another request continues
			slow = len(k.flying) < 2
		}
		if slow || !t.findWitness(u, k, Silent) {
			return
		}
		k.failures++
		k.weight += Silent.weight()
		k.probing = true
		witness, ok = k.witness, true
	})
	return witness, ok
}

// postponeWitness lets another request of an origin give its turn to the URL that is known to answer.
func (t *HostErrors) postponeWitness(u site.URL) {
	t.on(u, func(k *trouble) {
		if k.probing {
			k.doubt, k.probing = true, false
		}
	})
}
