// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/site"
	"mirrord/store"
)

// A validator lies when it stays the same while the content changes. Then it is not sent any more. An answer 304 cannot be seen through, so that
// every run asks for a few of the resources that answered so without validators; when one of these lied, nothing is believed in its
// directory for some runs.

// Audits of validators in a run.
const (
	leastValidators = 2
	mostValidators  = 10
	validatorShare  = 500       // one of so many
	maxAudited      = 256 << 10 // bytes of what is worth being sent once more
	distrustedRuns  = 4         // after the one that found out
	maxLiars        = 1000      // directories that are remembered
)

// liars are the directories in which validators are not sent. Safe for concurrent use.
type liars struct {
	mu    sync.Mutex
	dirs  map[string]int      // origin and directory -> the run before which none are sent
	found map[string]site.URL // by audits of this run
}

const liarsFact = "liars"

func dirOf(u site.URL) string { return u.Origin() + u.Dir() }

// until returns the run before which no validators are sent for a URL.
func (l *liars) until(u site.URL, run int) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := dirOf(u)
	if _, found := l.found[dir]; found {
		return run + distrustedRuns + 1, true
	}
	n, ok := l.dirs[dir]
	return n, ok && run < n
}

func (r *run) loadLiars() error {
	v, err := r.site.Notes.Fact(liarsFact)
	if err != nil || v == nil {
		return err
	}
	if err := json.Unmarshal(v, &r.liars.dirs); err != nil {
		r.log.Warn("the list of directories with unreliable validators cannot be decoded; it begins anew", "err", err)
		r.liars.dirs = nil
	}
	return nil
}

// distrustLiars takes the directories that audits have found into the list, and drops what is over.
func (r *run) distrustLiars() error {
	l := &r.liars
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) == 0 {
		return nil
	}
	if l.dirs == nil {
		l.dirs = map[string]int{}
	}
	maps.DeleteFunc(l.dirs, func(_ string, n int) bool { return n <= r.state.Number })
	for dir, u := range l.found {
		if len(l.dirs) >= maxLiars {
			break
		}
		l.dirs[dir] = r.state.Number + distrustedRuns + 1
		r.notes.Add(fmt.Sprintf("changed although its validators stayed the same: its directory is asked without them until run %d", l.dirs[dir]), u)
	}
	v, err := json.Marshal(l.dirs)
	if err != nil {
		return err
	}
	return r.site.Notes.SetFact(liarsFact, v)
}

// conditions returns the validators to send for a resource.
func (r *run) conditions(rec *store.Resource) (etag, modified string) {
	if _, lied := r.liars.until(rec.URL, r.state.Number); lied || r.traits.Audited(rec.ID) {
		return "", ""
	}
	if !rec.NoETag {
		etag = rec.ETag
	}
	if !rec.NoDate {
		modified = rec.LastModified
	}
	return etag, modified
}

// plausible returns the Last-Modified of an answer, "" for one that cannot be true: later than the answer itself (RFC 9110 8.8.2.1), or than
// our clock.
func (r *run) plausible(res *fetch.Result) string {
	t, err := http.ParseTime(res.LastModified)
	if err != nil {
		return ""
	}
	limit := r.now().Add(time.Minute)
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil && at.Before(limit) {
		limit = at
	}
	if t.After(limit) {
		return ""
	}
	return res.LastModified
}

// judgeValidators compares the validators of a body with those of another one before it. stale reports that some stayed the
// same; now then says which ones are not sent any more.
func judgeValidators(now, old *store.Resource) (stale bool) {
	sameTag := old.ETag != "" && now.ETag == old.ETag
	sameDate := old.LastModified != "" && now.LastModified == old.LastModified && (sameTag || now.ETag == "")
	if !sameTag && !sameDate {
		return false
	}
	now.NoETag, now.NoDate = now.NoETag || sameTag, now.NoDate || sameDate
	what := "Last-Modified"
	if sameTag {
		what = "ETag"
	}
	now.Reason = "its " + what + " stayed the same when its content changed: it is not sent any more"
	return true
}

// find takes note that an audit found the validators of a URL unreliable.
func (l *liars) find(u site.URL) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil {
		l.found = map[string]site.URL{}
	}
	l.found[dirOf(u)] = u
}

// forgive gives a resource that did not change at any of the times that are remembered its validators back: bodies that are asked for in vain cost more
// than they tell, and the audits look on.
func forgive(rec *store.Resource) {
	if (rec.NoETag || rec.NoDate) && rec.Recent == 0 && rec.Observed >= 16 {
		rec.NoETag, rec.NoDate = false, false
		rec.Reason = "it did not change in 16 looks: its validators are sent again"
	}
}

// auditValidators picks resources to be asked without validators, of those that have to be asked: others in every run, until all had
// their turn.
func (r *run) auditValidators() {
	if r.planner != nil {
		return // the plan says what is asked: see auditPlanned
	}
	spared := slices.Concat(r.evidence.spare[:]...)
	slices.Sort(spared)
	ids := slices.DeleteFunc(r.table.NotQueued(r.validated), func(id uint32) bool {
		_, is := slices.BinarySearch(spared, id)
		return is
	})
	n := min(max(leastValidators, len(ids)/validatorShare), mostValidators, (len(ids)+1)/2)
	for _, id := range rotate(ids, r.state.Number, n) {
		r.traits.NoteAudit(id)
		r.enqueueSource(id)
	}
}

// auditPlanned decides whether a resource that the plan wants is asked without validators: one of auditedOf of those that answered 304 when they were
// last asked, others in every run. An audit costs no request then.
func (r *run) auditPlanned(id uint32) {
	_, is := slices.BinarySearch(r.validated, id)
	if !is || xxh3.Hash(binary.BigEndian.AppendUint64(nil, uint64(r.state.Number)<<32|uint64(id)))%auditedOf != 0 {
		return
	}
	if r.traits.CountAudits() < mostValidators {
		r.traits.NoteAudit(id)
	}
}

const auditedOf = 16

// rotate returns n of ids, the turn-th ones of a walk over all of them in steps that lie far apart.
func rotate(ids []uint32, turn, n int) []uint32 {
	if len(ids) <= n {
		return ids
	}
	step := max(len(ids)*5/8, 1)
	for gcd(step, len(ids)) != 1 {
		step++
	}
	out := make([]uint32, 0, n)
	for i := range n {
		out = append(out, ids[(turn*n+i)%len(ids)*step%len(ids)])
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// longestLifetime bounds how long a site may say that something stays as it is.
const longestLifetime = 30 * 24 * time.Hour

// expires returns until when the site says that what it answered stays as it is (RFC 9111 4.2), in Unix seconds; 0 when it said nothing, or the
// job does not want to know.
func (r *run) expires(res *fetch.Result) int64 {
	if !r.job.Evidence.Expiry {
		return 0
	}
	d := lifetime(res.Header, r.now())
	if d <= 0 {
		return 0
	}
	return r.now().Add(min(d, longestLifetime)).Unix()
}

// lifetime is what is left of the explicit freshness lifetime of an answer that just came: max-age, else Expires, less its age.
// no-cache and no-store leave nothing, nor does what cannot be read.
func lifetime(h http.Header, now time.Time) time.Duration {
	seconds := func(s string) (time.Duration, bool) {
		n, err := strconv.ParseUint(strings.Trim(s, `" `), 10, 31)
		return time.Duration(n) * time.Second, err == nil
	}
	var life time.Duration
	given := false
	for field := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch strings.ToLower(name) {
		case "no-cache", "no-store":
			return 0
		case "max-age":
			d, ok := seconds(value)
			if !ok || given && d != life { // RFC 9111 4.2.1: two values are none
				return 0
			}
			life, given = d, true
		}
	}
	if !given {
		at, err := http.ParseTime(h.Get("Expires"))
		if err != nil {
			return 0
		}
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date // Expires is by the site's clock
		}
		life = at.Sub(now)
	}
	if age, ok := seconds(h.Get("Age")); ok {
		life -= age
	}
	return life
}
