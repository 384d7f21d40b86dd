// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Validators that stay the same while the content changes are unreliable. Then they are no longer sent. An
// answer 304 cannot be checked, so every run requests a few of the resources that answered so without
// validators; when one of these hid a change, none are sent in its directory for some runs, and for twice as
// many when that is found again soon after.

// Audits of validators in a run.
const (
	leastValidators = 2
	mostValidators  = 10
	validatorShare  = 500       // one of so many
	plannedShare    = 16        // of what a plan hands out: one of so many, and more of the first ones
	maxAudited      = 256 << 10 // bytes of a resource that may be transferred once more
	distrustedRuns  = 4         // after the one that found out for the first time
	mostDistrusted  = 64        // runs
	rememberedFor   = 4         // times the runs of the last distrust, after its end
	maxUnreliable   = 1000      // directories that are remembered
)

// unreliableNote has the run before which no validators are sent.
const unreliableNote = "changed although its validators stayed the same: " +
	"its directory is requested without them until run %d"

// ValidatorsFact is where a site keeps the directories with unreliable validators.
const ValidatorsFact = "liars"

// Validators decides with which validators a run requests what the mirror has. Safe for concurrent use, but
// for Load, Loaded and PickAudits, beside which no worker may run.
type Validators struct {
	run        int
	candidates urls.IDSet // answered 304 when they were last requested

	mu      sync.Mutex
	without map[string]distrust // by origin and directory
	found   map[string]site.URL // by audits of this run
	audited map[uint32]bool     // requested without validators
	planned uint64              // how many candidates the plan handed out
}

// NewValidators returns the validators of a run of which nothing is known.
func NewValidators(run int) *Validators {
	return &Validators{
		run:     run,
		without: map[string]distrust{},
		found:   map[string]site.URL{},
		audited: map[uint32]bool{},
	}
}

// distrust is how long no validators are sent.
type distrust struct {
	until int // the run before which none are sent
	runs  int // how many runs that were
}

// MarshalJSON makes it a list of two numbers.
func (d distrust) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{d.until, d.runs}) }

// UnmarshalJSON reads the list. A number was written by the first releases, which knew one length.
func (d *distrust) UnmarshalJSON(b []byte) error {
	d.runs = distrustedRuns
	if json.Unmarshal(b, &d.until) == nil {
		return nil
	}
	var stored [2]int
	err := json.Unmarshal(b, &stored)
	d.until, d.runs = stored[0], stored[1]
	return err
}

// distrusted returns how long no validators are sent in a directory in which this run found unreliable ones.
// The caller holds v.mu.
func (v *Validators) distrusted(dir string) distrust {
	was, before := v.without[dir]
	if before && (was.until == v.run+was.runs+1) {
		return was // this run has noted it
	}
	runs := distrustedRuns
	if before {
		runs = min(2*was.runs, mostDistrusted)
	}
	return distrust{until: v.run + runs + 1, runs: runs}
}

// Read takes what Distrust of earlier runs returned. After an error nothing is known.
func (v *Validators) Read(fact []byte) error {
	if len(fact) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := json.Unmarshal(fact, &v.without); err != nil || v.without == nil {
		v.without = map[string]distrust{}
		return err
	}
	return nil
}

// Load takes a record.
func (v *Validators) Load(rec *record.Resource) {
	holds := rec.InSet && rec.Body != record.NoBody && rec.Outcome != site.Failed
	unchanged := rec.Status == http.StatusNotModified && rec.Size <= maxAudited
	v.candidates.Put(rec.ID, holds && unchanged)
}

// Any reports whether some resource answered 304 when it was last requested.
func (v *Validators) Any() bool {
	for range v.candidates.All() {
		return true
	}
	return false
}

func directory(u site.URL) string { return u.Origin() + u.Dir() }

// Until returns the run before which no validators are sent for a URL; ok is false when they are sent.
func (v *Validators) Until(u site.URL) (run int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	dir := directory(u)
	if _, found := v.found[dir]; found {
		return v.distrusted(dir).until, true
	}
	run = v.without[dir].until
	return run, v.run < run
}

// For returns the validators to send for a resource. What failed when it was last requested is requested
// without: some servers fail because of them, in each run.
func (v *Validators) For(rec *record.Resource) (etag, modified string) {
	failed := (rec.Outcome == site.Failed) && (rec.Size <= maxAudited)
	if _, without := v.Until(rec.URL); failed || without || v.isAudited(rec.ID) {
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

func (v *Validators) isAudited(id uint32) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.audited[id]
}

// NoteStale takes note that the validators of a resource stayed the same when its content changed. When that
// was found by an audit, none are sent in its directory from now on.
func (v *Validators) NoteStale(id uint32, u site.URL) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.audited[id] {
		v.found[directory(u)] = u
	}
}

// IsSuspect reports whether an audit found another body under the validators of the one before.
func (v *Validators) IsSuspect(now, old *record.Resource) bool {
	tag, date := sameValidators(now, old)
	return (tag || date) && v.isAudited(old.ID)
}

// Distrust adds the directories that audits have found to those that are remembered, and drops those whose
// time was over long ago. It returns what to store as ValidatorsFact, nil when nothing was found.
func (v *Validators) Distrust(notes *urls.Notes) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.found) == 0 {
		return nil, nil
	}
	maps.DeleteFunc(v.without, func(_ string, d distrust) bool {
		return d.until+rememberedFor*d.runs <= v.run
	})
	for dir, u := range v.found {
		was, now := v.without[dir], v.distrusted(dir)
		if was == now {
			continue // an earlier call has said so
		}
		if (was == distrust{}) && len(v.without) >= maxUnreliable {
			break
		}
		v.without[dir] = now
		notes.Add(fmt.Sprintf(unreliableNote, now.until), u)
	}
	return json.Marshal(v.without)
}

// PickAudits picks resources that are requested without validators, of those that did not enter the frontier
// and are not among skip: others in every run, until all had their turn. key is Planner.Key.
func (v *Validators) PickAudits(t *urls.Table, skip []uint32, key func(id uint32) uint32) []uint32 {
	slices.Sort(skip)
	ids := slices.DeleteFunc(t.NotQueued(slices.Collect(v.candidates.All())), func(id uint32) bool {
		_, is := slices.BinarySearch(skip, id)
		return is
	})
	n := min(max(leastValidators, len(ids)/validatorShare), mostValidators, (len(ids)+1)/2)
	picked := drawn(ids, v.run, n, key)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, id := range picked {
		v.audited[id] = true
	}
	return picked
}

// Plan decides whether a resource that a plan hands out is requested without validators: one of plannedShare
// of those that answered 304 when they were last requested, others in every run. It is one of two of the
// first one, one of three of the second and so on, because many runs request no more than a few. Such an
// audit costs no request. key is that of Planner.Key.
func (v *Validators) Plan(id, key uint32) {
	if !v.candidates.Has(id) {
		return
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(v.run)<<32|uint64(key))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.planned++
	if xxh3.Hash(b)%min(v.planned+1, plannedShare) == 0 && len(v.audited) < mostValidators {
		v.audited[id] = true
	}
}

// StaleValidators compares the validators of a body with those of another body before it. It reports whether
// some stayed the same; now then says which ones are no longer sent.
func StaleValidators(now, old *record.Resource) bool {
	sameTag, sameDate := sameValidators(now, old)
	if !sameTag && !sameDate {
		return false
	}
	now.NoETag, now.NoDate = now.NoETag || sameTag, now.NoDate || sameDate
	what := "Last-Modified"
	if sameTag {
		what = "ETag"
	}
	now.Reason = "its " + what + " stayed the same when its content changed: it is no longer sent"
	return true
}

func sameValidators(now, old *record.Resource) (tag, date bool) {
	tag = old.ETag != "" && now.ETag == old.ETag
	return tag, old.LastModified != "" && now.LastModified == old.LastModified && (tag || now.ETag == "")
}

// Forgive lets the validators of a resource be sent again when it did not change at any of the times that are
// remembered: bodies that are transferred in vain cost more than they tell, and the audits continue.
func Forgive(rec *record.Resource) {
	if (rec.NoETag || rec.NoDate) && rec.Recent == 0 && rec.Observed >= 16 {
		rec.NoETag, rec.NoDate = false, false
		rec.Reason = "it did not change in 16 looks: its validators are sent again"
	}
}

// drawn returns n of some URLs: others in every run, until all had their turn. key is Planner.Key.
func drawn(ids []uint32, run, n int, key func(id uint32) uint32) []uint32 {
	byKey := func(a, b uint32) int { return cmp.Compare(key(a), key(b)) }
	return rotate(slices.SortedStableFunc(slices.Values(ids), byKey), run, n)
}

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
