// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/robots"
	"mirrord/site"
	"mirrord/store"
)

// Of a verification: reuseFor is for how long it holds; reuseTried files are asked at most, reuseEnough with the same bytes are enough, and with less than
// reuseLeast, when there are so many, nothing is said. It ends with reuseSilent requests in a row that had no answer.
const (
	reuseFor    = 7 * 24 * time.Hour
	reuseTried  = 24
	reuseEnough = 8
	reuseLeast  = 5
	reuseSilent = 3
	reuseSample = 4 << 20 // bytes of the largest file that is compared
)

const reuseFact = "reuse"

// reuseRecord is the last verification.
type reuseRecord struct {
	Job      string    `json:"job"`
	From     string    `json:"from"`
	At       string    `json:"at"`
	Verified time.Time `json:"verified"`
	Same     int       `json:"same"`
	Differs  string    `json:"differs,omitempty"` // a URL that ended the reuse
	Why      string    `json:"why,omitempty"`     // of Differs; "": its bytes were others
	Used     time.Time `json:"used,omitzero"`     // when a run last had the other mirror, to within a day
}

// used is when a run last had the other mirror.
func (v *reuseRecord) used() time.Time {
	if v.Used.After(v.Verified) {
		return v.Used
	}
	return v.Verified
}

// lastReuse reads the last verification of a site; none is the zero value.
func lastReuse(s *store.Site) (last reuseRecord, err error) {
	v, err := s.Notes.Fact(reuseFact)
	if err != nil || v == nil || json.Unmarshal(v, &last) != nil {
		return reuseRecord{}, err
	}
	return last, nil
}

// verifyReuse asks the site for some of the files. said is false when too few answers came to say something; why is what the last one was instead. The
// only error is that ctx ended.
func (r *run) verifyReuse(ctx context.Context, files map[string]reusedFile) (rec reuseRecord, said bool, why string, err error) {
	x := &r.reuse
	rec = reuseRecord{Job: x.job, From: x.from, At: x.at, Verified: r.now().UTC()}
	k := r.newAsker()
	rests := source.LeastPaths(fmt.Sprintf("%s %d", x.at, r.state.Number), func(yield func(string) bool) {
		for rest, f := range files {
			if f.size <= reuseSample && !yield(rest) {
				return
			}
		}
	}, reuseTried)
	silence := 0
	for _, rest := range rests {
		if rec.Same >= reuseEnough || silence >= reuseSilent {
			break
		}
		u, _, err := site.Parse(x.at + rest)
		if err != nil || !r.rules.Scope.Covers(u) {
			continue
		}
		may, err := k.Allowed(ctx, u)
		if err != nil {
			return rec, false, "", err
		}
		if !may.OK {
			why = fmt.Sprintf("; %s: %s", u, may.Why)
			continue
		}
		var body source.PageSink
		res, err := k.Exchange(ctx, fetch.Request{URL: u, MaxBody: 2 * reuseSample, NoRetry: true}, &body)
		if ctx.Err() != nil {
			return rec, false, "", ctx.Err()
		}
		if err != nil {
			silence++
			why = fmt.Sprintf("; %s: %v", u, err)
			continue
		}
		silence = 0
		tags := robots.ParseXRobotsTag(res.RobotsTags(), r.rules.Product, r.now())
		switch {
		case !res.Location.IsZero():
			why = fmt.Sprintf("; %s leads to %s", u, res.Location)
		case !res.Kept || res.Status != http.StatusOK:
			why = fmt.Sprintf("; %s: status %d", u, res.Status)
		case r.job.ObeyRobots && tags.NoArchive:
			rec.Differs, rec.Why = u.String(), "came with X-Robots-Tag: noarchive"
			return rec, true, "", nil
		case r.job.ObeyRobots && r.job.ObeyNofollow && tags.NoFollow:
			rec.Differs, rec.Why = u.String(), "came with X-Robots-Tag: nofollow"
			return rec, true, "", nil
		case sha256.Sum256(body.Bytes()) == files[rest].digest:
			rec.Same++
		default:
			rec.Differs = u.String()
			return rec, true, "", nil
		}
	}
	return rec, rec.Same > 0 && rec.Same >= min(reuseLeast, len(files)), why, nil
}
