// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mirrord/archive/captured"
	"mirrord/archive/crawls"
	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror"
)

// importAll makes a version of each crawl of an archive, on a site that is empty, by runs that take their
// answers from it. clock is set to the time of the crawl; it must be that of the state. last is the summary
// of the last run; use says of each URL of the archive, by its number, what became of it. After an error the
// site is of no use.
func importAll(
	ctx context.Context, o mirror.Options, a *crawls.Recordings, clock func(time.Time),
) (last *mirror.Summary, use []used, err error) {
	j := *o.Job
	asImported(&j)
	o.Job, o.Accept, o.Confirm, o.Imports, o.Hosts = &j, true, -1, true, captured.Hosts{}
	use = make([]used, a.Len())
	first, err := firstCrawl(&j, a)
	if err != nil {
		return nil, nil, err
	}
	for k := first; k < len(a.Crawls); k++ {
		clock(a.Crawls[k].Last)
		answers, err := captured.New(a, k, job.ProductToken(j.Polite.UserAgent))
		if err != nil {
			return nil, nil, err
		}
		o.Fetcher, o.Robots, o.Also = answers, answers, a.URLs(k)
		if last, err = importOne(ctx, o); err != nil {
			return nil, nil, fmt.Errorf("crawl of %s: %w", a.Crawls[k].First.Format(time.DateTime), err)
		}
		answers.Given(func(n int, allowed bool) {
			use[n] = max(use[n], taken)
			if !allowed {
				use[n] = takenForbidden
			}
		})
	}
	return last, use, nil
}

// used is what became of a URL of an archive in an import.
type used uint8

const (
	taken          used = iota + 1
	takenForbidden      // by the robots.txt of the archive
)

// firstCrawl is the first crawl that has something of a job: those before it are of other sites. It is the
// first one, too, when none has anything.
func firstCrawl(j *job.Job, a *crawls.Recordings) (int, error) {
	scope, err := j.ScopeRule()
	if err != nil || len(j.Scope.Aliases) > 0 { // pages with another name of the host are the job's, too
		return 0, err
	}
	for k := range a.Crawls {
		found := a.Crawls[k].Version > 0 // an export of a mirror
		for u := range a.URLs(k) {
			if found = found || scope.Covers(u); found {
				break
			}
		}
		if found {
			return k, nil
		}
	}
	return 0, nil
}

// importOne makes the run of one crawl. The error says why it made no version.
func importOne(ctx context.Context, o mirror.Options) (*mirror.Summary, error) {
	sum, err := mirror.Run(ctx, o)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case !sum.Verdict.Finished() && len(sum.Reasons) > 0:
		return nil, errors.New(sum.Reasons[0])
	case sum.Version == 0:
		return nil, errors.New("it has no page that the mirror can begin with")
	}
	return sum, nil
}

// asImported makes a job one whose runs take everything from an archive, regardless of the windows in which
// the site allows requests. Which URLs belong to the mirror it does not change.
func asImported(j *job.Job) {
	j.AskAll()
	j.Policy = policy.Full
	j.Window, j.Proxy, j.Alternates, j.Reuse = "", "", nil, job.Reuse{}
	j.Repair, j.Only = false, nil
	j.Limits.MaxTime, j.Limits.MaxRequests = 0, 0
	j.Polite.MaxWait = 1 << 62
	j.Polite.Connections = importWorkers
	j.Publish.Keep, j.Publish.Grace, j.Publish.Trees = "all", 0, 1
}

// importWorkers is how many URLs are taken at a time.
const importWorkers = 4
