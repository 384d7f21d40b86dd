// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// Strings in scripts that are plainly the addresses of files are guesses, see package intake. But for the
// first ones they are requested after all that is linked, and what they lead to belongs to the mirror like
// anything else. A guess that leads nowhere is gone and no failure, is requested again only in every eighth
// run, and too many of them end the guessing of the run. The icon that browsers request without being told is
// treated as a guess; its absence is not counted.

const (
	guessSample   = 100 // guesses of a run that are requested soon
	guessPatience = 50  // guesses that may lead nowhere before it counts how many led somewhere
	guessAgain    = 8   // a guess that led nowhere is requested again in one of so many runs
)

// seenIn is what a candidate says of its URL.
func seenIn(c *admit.Candidate) ledger.Seen {
	if c.Guess {
		return ledger.Guess
	}
	return ledger.Named
}

func (r *run) isGuess(id uint32) bool { return r.table.State(id).Guessed() }

// tired reports whether most of the guesses of this run led nowhere.
func (r *run) tired() bool {
	if r.stats.GuessGone.Load() < max(guessPatience, 2*r.stats.GuessFound.Load()) {
		return false
	}
	r.notes.Cap(tiredReason)
	return true
}

const tiredReason = "addresses in scripts were no longer followed: most led nowhere"

// guessPriority is when a guess that was not asked yet is asked: the first ones soon, to learn whether it is
// worth it.
func (r *run) guessPriority() crawl.Priority {
	if r.stats.Guesses.Add(1) <= guessSample {
		return crawl.PrioRequisite
	}
	return crawl.PrioGuess
}

// misled reports whether a guess of an image or the like was answered with a page: many a site has one for
// every path.
func (r *run) misled(rec *store.Resource, mime string) bool {
	return !rec.InSet && intake.Misleads(rec.URL, mime) && r.isGuess(rec.ID)
}

// rests reports whether a guess that led nowhere is not asked in this run.
func (r *run) rests(id uint32, s ledger.State) bool {
	nowhere := s.Outcome() == site.Gone || s.Outcome() == site.Trapped
	return nowhere && !s.InSet() && (int(id)+r.state.Number)%guessAgain != 0
}
