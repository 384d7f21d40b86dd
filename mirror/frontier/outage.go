// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"errors"
	"math"
	"net/http"

	"mirrord/fetch"
)

// An origin is down when so many of its requests failed in a row, by weight. The gap to a host in trouble
// doubles from a second on, so that this many take seven seconds.
const (
	outageWeight = 4
	mostWeight   = 16 // for an origin that fails often and answers in between
)

// falseAlarm is the share of the outages found that may be none, for an origin whose requests fail by chance.
const falseAlarm = 1e-4

// calmAnswers is for how many answers silence of one URL causes no request of another one, after that has
// shown that the origin answers.
const calmAnswers = 20

// Symptom is how a request of an origin failed.
type Symptom uint8

// The symptoms. The first three may be trouble of single URLs; the others concern the whole origin.
const (
	BadAnswer   Symptom = iota // a status that passes: 5xx
	Broken                     // reset, cut off, or too slow
	Silent                     // connected, and no header in time
	Refused                    // refused, unreachable, no such name, no TLS or no good certificate
	Unreachable                // no connection in time
	Busy                       // 429: it answers, and has too many requests
	Refusal                    // 403 and the like of what the mirror has, or a firewall's challenge
)

// mostBusy is how many 429 in a row show that the host takes no more requests for now, although the gap
// between them has grown to a minute.
const mostBusy = 8

// mostRefusals is how many refusals in a row show that an origin refuses all requests, when a URL that it
// gave is refused too. A part that is refused asks for that after twice as many each time.
const mostRefusals = 8

// SymptomOfStatus returns the symptom of an answer with a transient status.
func SymptomOfStatus(status int) Symptom {
	if status == http.StatusTooManyRequests {
		return Busy
	}
	return BadAnswer
}

// weight is what a symptom weighs. A request that waited for its whole timeout is worth two: others waited
// beside it.
func (s Symptom) weight() int {
	if s == Silent || s == Unreachable {
		return 2
	}
	return 1
}

// ofURL reports whether a symptom may be that of a single URL, so that another URL must confirm it.
func (s Symptom) ofURL() bool { return s <= Silent }

// SymptomOf returns what an exchange without a usable answer says of its origin; ok is false when it says
// nothing, because an answer came or none was wanted.
func SymptomOf(err error) (s Symptom, ok bool) {
	switch {
	case fetch.Unconnected(err) && errors.Is(err, fetch.ErrTimeout):
		return Unreachable, true
	case fetch.Unconnected(err):
		return Refused, true
	case fetch.Silent(err):
		return Silent, true
	case fetch.Transient(err), errors.Is(err, fetch.ErrReset):
		return Broken, true
	}
	return 0, false
}

// outage is what a run knows of whether an origin answers.
type outage struct {
	weight   int  // of the failures since the last answer
	failures int  // since the last answer
	busy     int  // answers 429 since the last other answer
	before   int  // failures of the origin that an answer ended
	answers  int  // of this run, by this process
	calm     int  // up to so many answers, silence of one URL counts for that URL only
	sure     bool // the failures are not those of single URLs
	crowded  bool // the same of the answers 429
	refusals int  // since the last other answer
	partly   int  // most of these that another answer ended
	barred   bool // no URL is known that may show that they concern a part only
	doubt    bool // a URL that is known to answer is to be requested next
	probing  bool // it is requested
}

// heard notes an answer. That of the URL that had to confirm an outage says that the failures before it were
// those of their URLs.
func (o *outage) heard() {
	o.answers++
	if !o.probing {
		o.before += o.failures
	}
	if o.probing {
		o.calm = o.answers + calmAnswers
	}
	*o = outage{
		before:  o.before,
		answers: o.answers,
		calm:    o.calm,
		partly:  max(o.partly, o.refusals),
	}
}

// isCalm reports whether the URL that had to confirm an outage has answered of late.
func (o *outage) isCalm() bool { return o.answers < o.calm }

// limit is the weight of failures in a row that shows an outage. An origin that fails at times needs as many
// as are unlikely by chance, at the rate at which it failed so far.
func (o *outage) limit() int {
	if o.before == 0 {
		return outageWeight
	}
	rate := float64(o.before+1) / float64(o.before+o.answers+1) // one more: a few looks say little
	n := int(math.Ceil(math.Log(falseAlarm) / math.Log(rate)))
	return min(max(n, outageWeight), mostWeight)
}

// counts adds to answers of one kind in a row, of which limit show that they concern the whole origin.
// Requests that were under way together may all get one, and so may a section of a site: a URL that is known
// to answer decides, when there is one; else certain is set. isWitness says that this is its answer.
func (o *outage) counts(n *int, limit int, certain *bool, isWitness bool, witness func() bool) (down bool) {
	*n++
	if isWitness {
		o.probing = false
	} else if (*n >= limit-1) && !*certain && !o.doubt && !o.probing {
		o.doubt = witness()
		*certain = !o.doubt
	}
	return (*n >= limit) && (*certain || isWitness)
}

// fail counts a failure. sure says that it is not that of a single URL. witness is called when another URL
// has to confirm an outage, and says whether there is one that is known to answer.
func (o *outage) fail(s Symptom, sure bool, witness func() bool) (down bool) {
	switch s {
	case Busy:
		return o.counts(&o.busy, mostBusy, &o.crowded, sure, witness)
	case Refusal:
		o.weight, o.failures, o.busy = 0, 0, 0 // it answers
		return o.counts(&o.refusals, max(mostRefusals, 2*o.partly), &o.barred, sure, witness)
	}
	o.failures++
	o.weight += s.weight()
	if (s == Unreachable) && (o.answers == 0) {
		o.weight = max(o.weight, o.limit()) // several attempts to connect
	}
	o.sure = o.sure || sure || !s.ofURL()
	ask := (o.weight >= o.limit()-1) || ((s == Silent) && !o.isCalm())
	if !o.sure && !o.probing && ask {
		o.doubt = witness()
		o.sure = !o.doubt
	}
	return o.sure && (o.weight >= o.limit())
}
