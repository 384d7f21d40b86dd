// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"mirrord/mirror/ledger"
	"mirrord/site"
)

// Unanswered counts the URLs that entered the frontier and have no outcome of this run.
func Unanswered(t ledger.Settled) (n int64) {
	for _, s := range t.All() {
		if s.Queued() && !s.Answered() {
			n++
		}
	}
	return n
}

// Requested counts the URLs that were requested in this run, by this process or an earlier one.
func Requested(t ledger.Settled) (n int64) {
	for _, s := range t.All() {
		if s.WasAsked() {
			n++
		}
	}
	return n
}

// Coverage counts the URLs that the run requested, and those that it knew: these, and what is in the mirror
// or redirects. A guess that leads nowhere is in neither count: it is requested in some runs only, which
// depends on its number, and two runs of the same site must show the same count of known URLs.
func Coverage(t ledger.Settled) (requested, known int64) {
	for _, s := range t.All() {
		nowhere := s.Guessed() && (s.Outcome() == site.Gone) && (s.Seen()&ledger.Left == 0)
		switch {
		case nowhere:
		case s.WasAsked():
			requested++
			known++
		case s.Governed():
			known++
		}
	}
	return requested, known
}
