// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"net/http"
	"slices"

	"mirrord/site"
)

// A Retry-After is that of its URL until so many different URLs of the origin in a row, without an answer in
// between, asked to wait. Then the host waits. When that is for longer than polite.max_wait, a URL that is
// known to answer is requested first; the host is left for the next run when that asks to wait as well, or
// when no URL is known to answer.
const (
	waitsShort = 2
	waitsLong  = 4
)

// waited notes that a URL asked to wait, for longer than the job allows if long, and reports whether its host
// is to wait. witness is called when another URL has to confirm that, and says whether there is one.
func (k *trouble) waited(id uint32, long bool, witness func() bool) bool {
	if !slices.Contains(k.waits, id) && len(k.waits) < waitsLong {
		k.waits = append(k.waits, id)
	}
	if !long {
		return len(k.waits) >= waitsShort
	}
	if !k.doubt && !k.probing && (len(k.waits) == waitsLong-1) {
		k.doubt = witness()
	}
	return len(k.waits) >= waitsLong
}

// mostPaceTurns bounds the turns of one URL of a host that limits how fast it is requested.
const mostPaceTurns = 8

// mostVain is how many waits of different URLs may end with another one, without an answer in between, until
// waiting does not help.
const mostVain = 8

// pace is what a run knows of an origin that limits how fast it is requested.
type pace struct {
	limited bool // several URLs in a row asked to wait: else the wait is that of its URL
	freed   int  // URLs that asked to wait and were answered later
	vain    int  // waits in a row that ended with another one
	turns   map[site.URL]paceTurns
}

// paceTurns are the answers to one URL that asked to wait.
type paceTurns struct {
	n     int
	freed int // pace.freed at the time of the last one
	vain  int // of n: how many came although no wait had ended since the one before
}

// again counts an answer that asks to wait, and reports whether its URL gets another turn. It does when the
// wait of another URL has ended with an answer since the last time, and once without that: the host may have
// been busy with others.
func (p *pace) again(u site.URL) bool {
	was := p.turns[u]
	if p.turns == nil {
		p.turns = map[site.URL]paceTurns{}
	}
	now := paceTurns{n: was.n + 1, freed: p.freed, vain: was.vain}
	if was.n > 0 {
		p.vain++
	}
	if (was.n > 0) && (p.freed == was.freed) {
		now.vain++
	}
	p.turns[u] = now
	return p.limited && (now.n <= mostPaceTurns) && (now.vain <= 1) && (p.vain <= mostVain)
}

// later reports whether an answer says to come back, 0 being one that names a wait: other errors are those of
// their URLs, whether the host limits its requests or not.
func later(status int) bool {
	switch status {
	case 0, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// limits reports whether an answer that names no wait is of a host that limits how fast it is requested: 429
// is by its meaning (RFC 6585 §4), 503, the default of nginx, when other URLs that answered so came later.
func (p *pace) limits(status int) bool {
	return (status == http.StatusTooManyRequests) || (status == http.StatusServiceUnavailable && p.freed > 0)
}

// heard notes that a URL was answered.
func (p *pace) heard(u site.URL) {
	if _, waited := p.turns[u]; waited {
		p.freed++
		p.vain = 0
		delete(p.turns, u)
	}
}
