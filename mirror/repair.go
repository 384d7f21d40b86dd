// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/render"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// With repair = true a link to a page of another site, that is known to be broken and of which an equivalent copy is known, leads to that copy in the
// published pages. Nobody is asked: what is known is what the other mirrors of this state have recorded, and which pairs of base URLs a test found to be
// interchangeable. docs/replicas.md has the rules.

// repairs are the links to other sites that this run repairs. The zero value repairs none.
type repairs struct {
	cures map[string]render.Cure // by the URL that is broken
	hash  string                 // of cures; "" when they are those of the published version because some mirror could not be read
	on    bool                   // the fact is to be written
	links int                    // that the version which was published repairs
}

// Of the knowledge of others: how long what a mirror has recorded of a broken page says something, how old its last run may be, and how many broken pages are
// held in memory at most.
const (
	brokenFor    = 90 * 24 * time.Hour
	knownFor     = 30 * 24 * time.Hour
	mostCures    = 100_000
	silentRuns   = 3 // runs in a row without any answer of the origin, over silentFor, until it counts as failing
	silentFor    = 7 * 24 * time.Hour
	lookedRuns   = 50     // of a mirror, the last ones; more only of one that had no answer in any of them
	manyRuns     = 1000   // in which a job that runs four times an hour has its silentFor
	mostCompared = 20_000 // pages that are compared with the copy by more than the digests of their records
	mostOpen     = 32     // mirrors that stay open from one origin to the next
)

// repairFact says for which version, and with which cures, all documents were looked at.
const repairFact = "repair"

type repairRecord struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
}

// prepareRepairs finds out which links to other sites are repaired, and marks the documents in which that differs from the published version.
func (r *run) prepareRepairs(ctx context.Context) error {
	var last *repairRecord
	v, err := r.site.Notes.Fact(repairFact)
	if err != nil {
		return err
	}
	if v != nil {
		if last = new(repairRecord); json.Unmarshal(v, last) != nil {
			*last = repairRecord{}
		}
	}
	if !r.job.Repair && last == nil {
		return nil
	}
	x := &r.offsite
	if r.o.repairs != nil {
		x.on, x.cures = true, r.o.repairs
		published, err := render.PublishedRepairs(r.site)
		if err != nil {
			return err
		}
		return errors.Join(r.noteRepairs(repairRecord{}), r.markRepairs(ctx, published))
	}
	if r.job.Repair {
		switch x.cures, err = r.findCures(ctx); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // damage there is none here: this mirror is published all the same
			r.notes.Cap(fmt.Sprintf("repair: links to other sites stay as they are: what other mirrors know cannot be read: %v", err))
			x.on = last != nil
			return r.keepCures()
		}
		maps.DeleteFunc(x.cures, func(_ string, c render.Cure) bool { // a link to a file of the mirror would have to follow its place
			_, own := r.table.Find([]byte(c.To))
			return own
		})
	}
	if last == nil && len(x.cures) == 0 {
		return nil
	}
	x.on, x.hash = true, hashOf(x.cures)
	if r.live == nil || last != nil && last.Hash == x.hash && last.Version == r.live.Number {
		return r.noteRepairs(repairRecord{})
	}
	published, err := render.PublishedRepairs(r.site)
	if err != nil {
		return err
	}
	if len(published) == 0 && len(x.cures) == 0 {
		return nil
	}
	if err := r.noteRepairs(repairRecord{}); err != nil {
		return err
	}
	return r.markRepairs(ctx, published)
}

// repairsIn returns the repaired links of a kept version; nil when no version ever had any.
func repairsIn(st *store.State, s *store.Site, number int) (map[string]render.Cure, error) {
	if v, err := s.Notes.Fact(repairFact); v == nil || err != nil {
		return nil, err
	}
	p, err := render.OpenPast(st, s, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := map[string]render.Cure{}
	for i := range p.Files() {
		links, err := render.RepairsOf(&p.Files()[i])
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out[l.Was] = render.Cure{To: l.To, Why: l.Why}
		}
	}
	return out, nil
}

// keepCures makes the repaired links of the published version those of this run.
func (r *run) keepCures() error {
	published, err := render.PublishedRepairs(r.site)
	if err != nil {
		return err
	}
	r.offsite.cures = map[string]render.Cure{}
	for _, links := range published {
		for _, l := range links {
			r.offsite.cures[l.Was] = render.Cure{To: l.To, Why: l.Why}
		}
	}
	return nil
}

// repaired notes that the published version has the repaired links of this run.
func (r *run) repaired() error {
	if !r.offsite.on {
		return nil
	}
	v := repairRecord{Hash: r.offsite.hash}
	if r.live != nil {
		v.Version = r.live.Number
	}
	if r.published != nil {
		v.Version = r.published.Number
	}
	return r.noteRepairs(v)
}

func (r *run) noteRepairs(rec repairRecord) error {
	v, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.site.Notes.SetFact(repairFact, v)
}

func hashOf(cures map[string]render.Cure) string {
	h := sha256.New()
	for _, u := range slices.Sorted(maps.Keys(cures)) {
		fmt.Fprintf(h, "%s %s\n", u, cures[u].To)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// direction is one way to read a pair that a test found to be interchangeable: what is broken under from may be under to.
type direction struct {
	from, to site.URL
	pair     store.PairRecord
	named    bool // a job names to as an alternate of from: somebody answers for it
}

// findCures looks for broken pages and their equivalents in the other mirrors of the state.
func (r *run) findCures(ctx context.Context) (map[string]render.Cure, error) {
	pairs, err := r.o.Facts.Pairs()
	if err != nil {
		return nil, err
	}
	var ways []direction
	for _, p := range pairs {
		if !p.Equal || r.now().Sub(p.Tested) > hosts.TestedFor {
			continue
		}
		one, _, err1 := site.Parse(p.Base1)
		two, _, err2 := site.Parse(p.Base2)
		if err1 == nil && err2 == nil {
			ways = append(ways, direction{one, two, p, p.Named}, direction{two, one, p, false})
		}
	}
	if len(ways) == 0 {
		return nil, nil
	}
	slices.SortFunc(ways, func(a, b direction) int { // the best first
		return cmp.Or(strings.Compare(a.pair.Level, b.pair.Level), strings.Compare(a.from.String(), b.from.String()), strings.Compare(a.to.String(), b.to.String()))
	})
	k, err := r.newNeighbours()
	if err != nil {
		return nil, err
	}
	of := map[string][]direction{} // by the origin of what is broken, the best first
	for _, w := range ways {
		of[w.from.Origin()] = append(of[w.from.Origin()], w)
	}
	cures := map[string]render.Cure{}
	for _, origin := range slices.Sorted(maps.Keys(of)) {
		for _, name := range k.names[origin] {
			for _, dir := range topmost(of[origin]) { // a family of many copies has many pairs: records are read once
				if k.cures(ctx, name, dir, of[origin], cures); ctx.Err() != nil {
					return nil, errors.Join(ctx.Err(), k.close())
				}
			}
		}
		if len(k.open) > mostOpen {
			if err := k.close(); err != nil {
				return nil, err
			}
		}
	}
	return cures, errors.Join(k.keep(of, cures), k.close())
}

// keep adds the repaired links of the published version of which nothing can be said now, because a mirror that would have to cannot be read, as long as a pair holds
// that leads there.
func (k *neighbours) keep(of map[string][]direction, cures map[string]render.Cure) error {
	if len(k.unread) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(k.unread))
	more := ""
	if n := len(names) - 1; n > 0 {
		more = fmt.Sprintf(", nor %s", plural(n, "other", "others"))
	}
	k.r.notes.Cap(fmt.Sprintf("repair: the mirror of %s cannot be read now%s, and links that this concerns stay as they are: %v", names[0], more, k.unread[names[0]]))
	published, err := render.PublishedRepairs(k.r.site)
	if err != nil {
		return err
	}
	for _, links := range published {
		for _, l := range links {
			u, _, err := site.Parse(l.Was)
			if err != nil || !k.undecided[l.Was] && !k.blind[u.Origin()] {
				continue
			}
			if _, ok := cures[l.Was]; !ok && slices.ContainsFunc(of[u.Origin()], func(w direction) bool {
				return strings.HasPrefix(l.Was, w.from.String()) && strings.HasPrefix(l.To, w.to.String())
			}) {
				cures[l.Was] = render.Cure{To: l.To, Why: l.Why}
			}
		}
	}
	return nil
}

// topmost returns the directories of which something may be broken, without those that lie below others of them.
func topmost(ways []direction) (out []site.URL) {
	all := slices.SortedFunc(func(yield func(site.URL) bool) {
		for _, w := range ways {
			if !yield(w.from) {
				return
			}
		}
	}, func(a, b site.URL) int { return strings.Compare(a.String(), b.String()) })
	for _, u := range all {
		if n := len(out); n == 0 || !strings.HasPrefix(u.String(), out[n-1].String()) {
			out = append(out, u)
		}
	}
	return out
}
