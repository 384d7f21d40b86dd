// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Strings in scripts that are plainly the addresses of files are guesses, see package parse. But for the
// first ones they are requested after all that is linked, and what they lead to belongs to the mirror like
// anything else. A guess that leads nowhere is gone and no failure, is requested again only in every eighth
// run, and too many of them end the guessing of the run. The icon that browsers request without being told is
// treated as a guess; its absence is not counted.

const (
	guessSample   = 100 // guesses of a run that are requested soon
	guessPatience = 50  // guesses that may lead nowhere before it counts how many led somewhere
	guessAgain    = 8   // a guess that led nowhere is requested again in one of so many runs
)

// TiredReason says why guesses are no longer followed.
const TiredReason = "addresses in scripts were no longer followed: most led nowhere"

// Tired reports whether most of the guesses of this run led nowhere.
func (a *Admission) Tired() bool {
	if a.Counts.GuessGone.Load() < max(guessPatience, 2*a.Counts.GuessFound.Load()) {
		return false
	}
	a.Notes.Cap(TiredReason)
	return true
}

// guessPriority is when a guess that was not requested yet is requested: the first ones soon, to learn
// whether it is worth it.
func (a *Admission) guessPriority() Priority {
	if a.Counts.Guesses.Add(1) <= guessSample {
		return PrioRequisite
	}
	return PrioGuess
}

// Rests reports whether a guess that led nowhere is not requested in this run.
func (a *Admission) Rests(id uint32, s urls.State) bool {
	nowhere := s.Outcome() == site.Gone || s.Outcome() == site.Trapped
	return nowhere && !s.InSet() && (int(id)+a.Run)%guessAgain != 0
}
