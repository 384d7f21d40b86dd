// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"mirrord/mirror/ledger"
	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store"
)

// judgement is a verdict in the making. A later, worse finding replaces a better one; reasons add up.
type judgement struct {
	verdict Verdict
	reasons []string
	left    int64 // URLs still to be asked
	anew    bool  // what was decided must be asked again: the next run does not go on with this one
}

func (j *judgement) partial(format string, args ...any) {
	j.verdict = max(j.verdict, Partial)
	j.reasons = append(j.reasons, fmt.Sprintf(format, args...))
}

func (j *judgement) suspicious(format string, args ...any) {
	j.verdict = max(j.verdict, Suspicious)
	j.reasons = append(j.reasons, fmt.Sprintf(format, args...))
}

// disk makes a judgement of an error that ended the run.
func (j *judgement) disk(err error) *judgement {
	j.verdict = Partial
	j.reasons = append(j.reasons, err.Error())
	return j
}

// judge decides how retrieval ended. ended is why it stopped early, nil when nothing was left to ask.
func (r *run) judge(ended error) *judgement {
	j := &judgement{}
	if r.o.NoFetch {
		return j
	}
	var limit result.LimitError
	var disk *store.DiskError
	switch {
	case ended == nil:
	case errors.As(ended, &limit):
		j.partial("%s", limit.What)
	case errors.As(ended, &disk):
		j.partial("%v", disk)
	case errors.Is(ended, result.ErrInterrupted):
		j.partial("interrupted; run again to go on")
	default:
		j.partial("%v", ended)
	}
	j.left = r.unanswered()
	if ended == nil && j.left > 0 {
		for _, l := range r.troubles.LeftEntries() {
			j.partial("%s was left for the next run: %s", l.Name, l.Reason)
		}
	}
	r.judgeSeeds(j)
	r.judgeFailures(j)
	return j
}

// unanswered counts the URLs that entered the frontier and have no outcome of this run.
func (r *run) unanswered() (n int64) {
	for _, s := range r.table.Settled().All() {
		if s.Queued() && !s.Answered() {
			n++
		}
	}
	return n
}

// answered counts the URLs that were asked in this run, by this process or an earlier one.
func (r *run) answered() (n int64) {
	for _, s := range r.table.Settled().All() {
		if s.WasAsked() {
			n++
		}
	}
	return n
}

// coverage counts the URLs that the run asked, and those that it knew: those too, and what is in the mirror or redirects. A guess that leads nowhere is in
// neither count: it is asked in some runs only, which depends on its number, and two runs of the same site must show the same count of known URLs.
func (r *run) coverage() (asked, known int64) {
	if r.o.NoFetch {
		return 0, 0
	}
	for _, s := range r.table.Settled().All() {
		nowhere := s.Guessed() && (s.Outcome() == site.Gone) && (s.Seen()&ledger.Left == 0)
		switch {
		case nowhere:
		case s.WasAsked():
			asked++
			known++
		case s.Governed():
			known++
		}
	}
	return asked, known
}

// judgeSeeds looks at the entry points: a site whose entry is gone, forbidden or broken is not what the job means.
func (r *run) judgeSeeds(j *judgement) {
	t := r.table.Settled()
	held := false
	for i, u := range r.rules.Seeds {
		id, ok := t.Find([]byte(u.String()))
		if !ok || !t.State(id).Answered() {
			continue // interrupted before
		}
		s := t.State(id)
		if _, inSet := t.Final(id); inSet && s.Outcome() != site.Failed {
			continue
		}
		what := fmt.Sprintf("the entry point %s: %s", u, r.outcomeText(id))
		if s.Outcome() == site.Redirected && s.Target() == 0 {
			what += "; is that the url to give, or should the scope take it in?"
		}
		switch {
		case s.Outcome() == site.Failed:
			j.partial("%s", what)
		case r.live != nil && !r.o.Accept:
			j.suspicious("%s", what)
			held = true
		case i == 0 && r.live == nil:
			j.partial("%s", what)
			j.anew = true
		default:
			r.notes.Add("entry points that could not be had", u)
		}
	}
	if _, _, err := r.entry(); held && err != nil { // accept would find out
		j.suspicious("%v", err)
	}
}

// outcomeText says in words what became of a URL in this run.
func (r *run) outcomeText(id uint32) string {
	u, s := r.table.Get(id)
	text := s.Outcome().String()
	if reason := r.notes.Reason(u); reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// fewFailures is how many URLs may fail on a site of any size.
const fewFailures = 3

// judgeFailures compares what failed with limits.max_failures. A few failures do not spoil a run: what failed keeps its last
// good copy, and the summary names it.
func (r *run) judgeFailures(j *judgement) {
	failed, asked := r.stats.Failed.Load(), r.stats.Requests.Load()
	silent := r.troubles.SilentOrigins()
	for _, origin := range slices.Sorted(maps.Keys(silent)) { // costs its own URLs, and not the version
		failed -= silent[origin]
		if u, _, err := site.Parse(origin + "/"); err == nil {
			r.notes.Add("servers that gave no answer: what the mirror has of them stays, other links lead to them", u)
		}
	}
	if r.resumed { // what failed is asked again, what did not is not: the share is of the whole run
		asked = max(asked, r.answered())
	}
	if failed <= 0 || asked == 0 {
		return
	}
	if limit := float64(r.job.Limits.MaxFailures); float64(failed) > limit*float64(asked) && failed > fewFailures {
		j.partial("%d of %d requests failed, more than limits.max_failures = %v", failed, asked, r.job.Limits.MaxFailures)
	}
}
