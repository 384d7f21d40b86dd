package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	var limit limitError
	var disk *store.DiskError
	switch {
	case ended == nil:
	case errors.As(ended, &limit):
		j.partial("%s", limit.what)
	case errors.As(ended, &disk):
		j.partial("%v", disk)
	case errors.Is(ended, errStopped):
		j.partial("interrupted; run again to go on")
	default:
		j.partial("%v", ended)
	}
	j.left = r.unanswered()
	if ended == nil && j.left > 0 {
		for _, host := range slices.SortedFunc(maps.Keys(r.down), cmp.Compare[string]) {
			if t := r.down[host]; t.down {
				j.partial("%s was left for the next run: %s", host, t.reason)
			}
		}
	}
	r.judgeSeeds(j)
	r.judgeFailures(j)
	return j
}

// unanswered counts the URLs that entered the frontier and have no outcome of this run.
func (r *run) unanswered() (n int64) {
	t := r.table
	for id := uint32(0); id < t.n; id++ {
		if e := t.at(id); e.flags&fQueued != 0 && e.flags&fAnswered == 0 {
			n++
		}
	}
	return n
}

// answered counts the URLs that were asked in this run, by this process or an earlier one.
func (r *run) answered() (n int64) {
	t := r.table
	for id := uint32(0); id < t.n; id++ {
		if e := t.at(id); e.seen&seenAsked != 0 || e.outcome == site.Failed && e.flags&fAnswered != 0 {
			n++
		}
	}
	return n
}

// judgeSeeds looks at the entry points: a site whose entry is gone, forbidden or broken is not what the job means.
func (r *run) judgeSeeds(j *judgement) {
	t := r.table
	for i, u := range r.seeds {
		id, ok := t.find([]byte(u.String()))
		if !ok || t.at(id).flags&fAnswered == 0 {
			continue // interrupted before
		}
		if _, inSet := t.final(id); inSet && t.at(id).outcome != site.Failed {
			continue
		}
		what := fmt.Sprintf("the entry point %s: %s", u, r.outcomeText(id))
		if e := t.at(id); e.outcome == site.Redirected && e.target == 0 {
			what += "; is that the url to give, or should the scope take it in?"
		}
		switch {
		case t.at(id).outcome == site.Failed:
			j.partial("%s", what)
		case r.live != nil:
			j.suspicious("%s", what)
		case i == 0:
			j.partial("%s", what)
			j.anew = true
		default:
			r.notes.add("entry points that could not be had", u)
		}
	}
}

// outcomeText says in words what became of a URL in this run.
func (r *run) outcomeText(id uint32) string {
	t := r.table
	e := t.at(id)
	text := e.outcome.String()
	if reason := r.notes.reason(t.urlOf(id)); reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

// fewFailures is how many URLs may fail on a site of any size.
const fewFailures = 3

// judgeFailures compares what failed with limits.max_failures. A few failures do not spoil a run: what failed keeps its last
// good copy, and the summary names it.
func (r *run) judgeFailures(j *judgement) {
	failed, asked := r.stats.failed.Load(), r.stats.requests.Load()
	if r.resumed { // what failed is asked again, what did not is not: the share is of the whole run
		asked = max(asked, r.answered())
	}
	if failed == 0 || asked == 0 {
		return
	}
	if limit := float64(r.job.Limits.MaxFailures); float64(failed) > limit*float64(asked) && failed > fewFailures {
		j.partial("%d of %d requests failed, more than limits.max_failures = %v", failed, asked, r.job.Limits.MaxFailures)
	}
}
