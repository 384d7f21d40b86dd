// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Of a verification: reuseFor is how long it is valid; at most reuseTried files are requested, reuseEnough
// with the same bytes are enough, and fewer than reuseLeast, when there are so many, decide nothing. It ends
// with reuseSilent requests in a row that had no answer.
const (
	reuseFor    = 7 * 24 * time.Hour
	reuseTried  = 24
	reuseEnough = 8
	reuseLeast  = 5
	reuseSilent = 3
	reuseSample = 4 << 20 // bytes of the largest file that is compared
)

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
func lastReuse(f urls.Facts) (last reuseRecord, err error) {
	last, _, err = urls.ReadFact[reuseRecord](f, urls.ReuseFact)
	return last, err
}

// reuseVerification is what a verification came to.
type reuseVerification struct {
	record reuseRecord
	said   bool   // enough answers came to decide
	why    string // the outcome of the last request when it was no file
}

// verify requests some of the files of the site itself. The only error is that ctx ended.
func (x *ReuseSource) verify(
	ctx context.Context, files map[string]reusedFile,
) (v reuseVerification, err error) {
	from := x.Provenance
	v.record = reuseRecord{
		Job:      from.Job,
		From:     from.From,
		At:       from.At,
		Verified: x.Now().UTC(),
	}
	k := x.NewAsker()
	rests := leastPaths(fmt.Sprintf("%s %d", from.At, x.Run()), func(yield func(string) bool) {
		for rest, f := range files {
			if f.size <= reuseSample && !yield(rest) {
				return
			}
		}
	}, reuseTried)
	silence := 0
	for _, rest := range rests {
		if v.record.Same >= reuseEnough || silence >= reuseSilent {
			break
		}
		u, _, err := site.Parse(from.At + rest)
		if err != nil || !x.ReuseSourceOptions.Covers(u) {
			continue
		}
		c, err := x.compare(ctx, k, u, files[rest].digest)
		if err != nil {
			return v, err
		}
		switch {
		case c.silent:
			silence++
		case c.answered:
			silence = 0
		}
		if c.why != "" {
			v.why = "; " + c.why
		}
		if c.same {
			v.record.Same++
		}
		if c.differs {
			v.record.Differs, v.record.Why, v.said, v.why = u.String(), c.because, true, ""
			return v, nil
		}
	}
	v.said = v.record.Same > 0 && v.record.Same >= min(reuseLeast, len(files))
	return v, nil
}

// comparison is the outcome of the request of one file of a verification.
type comparison struct {
	answered bool   // an answer came
	silent   bool   // no answer came
	same     bool   // the file of the other mirror
	differs  bool   // another file, or one that is not to be taken
	because  string // of differs; "": its bytes are others
	why      string // what came instead of a file
}

// compare requests one file. The only error is that ctx ended.
func (x *ReuseSource) compare(
	ctx context.Context, k *Asker, u site.URL, digest [32]byte,
) (comparison, error) {
	may, err := k.Allowed(ctx, u)
	if err != nil {
		return comparison{}, err
	}
	if !may.OK {
		return comparison{why: fmt.Sprintf("%s: %s", u, may.Why)}, nil
	}
	var body PageSink
	res, err := k.Exchange(ctx, fetch.Request{URL: u, MaxBody: 2 * reuseSample, NoRetry: true}, &body)
	if ctx.Err() != nil {
		return comparison{}, ctx.Err()
	}
	if err != nil {
		return comparison{silent: true, why: fmt.Sprintf("%s: %v", u, err)}, nil
	}
	c := comparison{answered: true}
	tags := tagsOf(res, x.Product, x.Now())
	switch {
	case !res.Location.IsZero():
		c.why = fmt.Sprintf("%s redirects to %s", u, res.Location)
	case !res.Kept || res.Status != http.StatusOK:
		c.why = fmt.Sprintf("%s: status %d", u, res.Status)
	case tags.NoArchive:
		c.differs, c.because = true, "came with X-Robots-Tag: noarchive"
	case x.Nofollow && tags.NoFollow:
		c.differs, c.because = true, "came with X-Robots-Tag: nofollow"
	case sha256.Sum256(body.Bytes()) == digest:
		c.same = true
	default:
		c.differs = true
	}
	return c, nil
}
