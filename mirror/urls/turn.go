// SPDX-License-Identifier: Apache-2.0

package urls

import "time"

// Again says why a URL is requested again in the same run. A URL gets one more turn for each reason.
type Again uint8

// The reasons.
const (
	AfterFailure Again = 1 << iota // a failure that may pass
	AfterGone                      // a 404 or 410 of something that the mirror has
	WithCookie                     // a redirect in a circle of which an answer set a cookie
	AfterSilence                   // it waited for a header, and gave its turn to a URL that is known to answer
	Elsewhere                      // a redirect that leads elsewhere than in the last run
	Respelled                      // the server wants the URL in another spelling
	Unsettled                      // a page that may have been edited where each answer differs
)

// Turn is one more request of a URL in the same run, at its end. The zero value means none.
type Turn struct {
	Why Again
	At  time.Time // not before; the zero time: as soon as nothing else is left
	// Optional says that the run does not continue for this turn: the URL has its outcome, and the next run
	// makes the request if this one does not.
	Optional bool
}

// LentWish says for what a host that is requested instead of an origin needs its turn.
type LentWish uint8

// The wishes of such a host.
const (
	NoWish    LentWish = iota
	WishCheck          // a request of its own, by which it is verified
	WishURL            // the next URL of the origin
)
