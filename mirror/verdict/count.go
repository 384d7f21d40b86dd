// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Unanswered counts the URLs that entered the frontier and have no outcome of this run.
func Unanswered(t urls.Settled) (n int64) {
	for _, s := range t.All() {
		if s.Queued() && !s.Answered() {
			n++
		}
	}
	return n
}

// isNowhere reports whether a URL is a guess that leads nowhere.
func isNowhere(s urls.State) bool {
	return s.Guessed() && (s.Outcome() == site.Gone) && (s.Seen()&urls.Left == 0)
}

// NotReached counts the URLs that a run which is closed did not get to. planned says that a policy planned
// it.
func NotReached(t urls.Settled, planned bool) (n int64) {
	for _, s := range t.All() {
		if isNotReached(s, planned) {
			n++
		}
	}
	return n
}

// isNotReached reports whether a run which is closed did not get to a URL. What failed is requested again by
// each process; of what a plan did not skip nothing is stored.
func isNotReached(s urls.State, planned bool) bool {
	if !s.Given() || s.Answered() || (s.Outcome() == site.Failed) {
		return false
	}
	return (s.Outcome() == site.Pending) || (!planned && s.Governed())
}

// Requested counts the URLs that were requested in this run, by this process or an earlier one.
func Requested(t urls.Settled) (n int64) {
	for _, s := range t.All() {
		if s.WasAsked() {
			n++
		}
	}
	return n
}

// Coverage counts the URLs that the run requested, and those that it knew: these, and those that are in the
// mirror or redirect. A guess that leads nowhere is in neither count: it is requested in some runs only,
// which depends on its number, and two runs of the same site must show the same count of known URLs.
func Coverage(t urls.Settled) (requested, known int64) {
	for _, s := range t.All() {
		switch {
		case isNowhere(s):
		case s.WasAsked():
			requested++
			known++
		case s.Governed():
			known++
		}
	}
	return requested, known
}
