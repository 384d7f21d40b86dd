// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/replica/hosts"
	"mirrord/scheduler/control"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/shared"
)

// Registering is what one registration works with.
type Registering struct {
	*env.App
	State *store.State
	Hosts *fetch.Hosts // the politeness of all requests
}

// Register tests a place that is said to have what the mirror of a job has. What comes of it is kept as of
// any test; a place that may not stand for the origin is refused.
func (r Registering) Register(ctx context.Context, j *job.Job, at string) (p shared.PairRecord, err error) {
	u, err := equivalentOf(j, at)
	if err != nil {
		return p, control.WithCode(err, control.ErrInvalid)
	}
	v := &replicaVerifier{
		App:   r.App,
		st:    r.State,
		jobs:  []*job.Job{j},
		hosts: r.Hosts,
		sides: map[*job.Job]*jobSide{},
	}
	defer v.close()
	if err := v.against(ctx, j, u, ""); err != nil {
		return p, err
	}
	got := v.pairs[0]
	p = got.PairRecord
	switch {
	case got.Untested != "":
		err = fmt.Errorf("%s is not registered: %s", u, got.Untested)
	case !p.Equal:
		err = fmt.Errorf("%s is not registered: by %d of %d tests it is %s of %s%s", u, p.Answered, p.Tests,
			levelOf(&p), p.Base1, firstDifference(got.Outcomes))
	default:
		return p, nil
	}
	return p, control.WithCode(err, control.ErrInvalid)
}

// RenewAfter is the age of a test at which a complete run has the place tested again. A test counts for
// hosts.TestedFor.
const RenewAfter = 10 * 24 * time.Hour

// Renew tests the places again that stand for the origin of a job, when that is due: one may have turned bad.
// Runs test the alternates of the job themselves. A place that does not answer keeps its last test.
func (r Registering) Renew(ctx context.Context, j *job.Job) {
	pairs, err := r.State.Shared.Pairs()
	if err != nil {
		r.Log.Error("registered mirrors are not tested again", "job", j.Name, "err", err)
		return
	}
	base, err := (&replicaVerifier{App: r.App, st: r.State}).base(j)
	if err != nil {
		return // nothing is published, or the run has reported the error
	}
	alternates := j.AlternateURLs()
	for _, p := range pairs {
		stands := p.Base1 == base && (p.Equal || len(p.SamePaths) > 0)
		if !stands || r.State.Now().Sub(p.Tested) < RenewAfter || ctx.Err() != nil ||
			slices.ContainsFunc(alternates, func(u site.URL) bool { return u.String() == p.Base2 }) {
			continue
		}
		if _, err := r.Register(ctx, j, p.Base2); err != nil && ctx.Err() == nil {
			r.Log.Warn("a registered mirror was tested again", "job", j.Name, "url", p.Base2, "err", err)
		}
	}
}

// levelOf names what a test decided.
func levelOf(p *shared.PairRecord) string {
	switch {
	case p.Mirrors && !p.Confident:
		return "too little known to be a replica"
	case p.Mirrors:
		return "a replica of level " + p.Level + ", which may not stand for the origin,"
	}
	return "no replica (" + p.Level + ")"
}

// firstDifference names a test that did not have the same.
func firstDifference(outcomes []string) string {
	same := []string{hosts.FullMatch.String(), hosts.FullSimilar.String(), hosts.HighSimilar.String()}
	for _, o := range outcomes {
		kind, what, _ := strings.Cut(o, " ")
		if !slices.Contains(same, kind) {
			return "; for instance " + what + " (" + kind + ")"
		}
	}
	return ""
}

// equivalentOf checks the URL of a place that is said to be equivalent to a job's directory.
func equivalentOf(j *job.Job, at string) (site.URL, error) {
	named := *j
	named.Alternates = []string{at}
	if err := named.Validate(); err != nil {
		return site.URL{}, err
	}
	return named.AlternateURLs()[0], nil
}
