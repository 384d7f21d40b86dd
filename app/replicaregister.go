// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mirrord/control"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// registering is what one registration works with.
type registering struct {
	*App
	st    *store.State
	hosts *fetch.Hosts
}

// register tests a place that is said to have what the mirror of a job has. What comes of it is kept as of
// any test; a place that may not stand for the origin is refused.
func (r registering) register(ctx context.Context, j *job.Job, at string) (p store.PairRecord, err error) {
	u, err := equivalentOf(j, at)
	if err != nil {
		return p, apiErr{err, control.ErrInvalid}
	}
	v := &replicaVerifier{
		App:   r.App,
		st:    r.st,
		jobs:  []*job.Job{j},
		hosts: r.hosts,
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
	return p, apiErr{err, control.ErrInvalid}
}

// levelOf names what a test decided.
func levelOf(p *store.PairRecord) string {
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
