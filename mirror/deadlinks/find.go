// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/shared"
)

// Limits of the records of others.
const (
	brokenFor    = 90 * 24 * time.Hour // for which what a mirror has recorded of a broken page counts
	knownFor     = 30 * 24 * time.Hour // how old the last run of a mirror may be
	mostCures    = 100_000             // broken pages that are held in memory
	silentRuns   = 3                   // runs without any answer, over silentFor: the origin fails
	silentFor    = 7 * 24 * time.Hour
	lookedRuns   = 50     // of a mirror, the last ones; more only of one that had no answer in any of them
	manyRuns     = 1000   // in which a job that runs four times an hour has its silentFor
	mostCompared = 20_000 // pages that are compared with the copy by more than the digests of their records
	mostOpen     = 32     // mirrors that stay open from one origin to the next
)

// Shared is what the sites of a state share. *store.State is one.
type Shared interface {
	// Runs returns the last n runs of a site, newest first.
	Runs(site string, n int) ([]shared.RunRecord, error)
	// Pairs lists the pairs of base URLs that were tested.
	Pairs() ([]shared.PairRecord, error)
}

// Search is a search for broken pages of other sites and their equivalents. All fields are needed.
type Search struct {
	Self  string // name of the site whose links are repaired
	Sites *store.State
	Facts Shared
	Meta  func(name string) (*phm.Meta, error) // of the published version of a site

	Covers    func(site.URL) bool                              // the scope of the job
	Published func() (map[string][]render.RepairedLink, error) // by path
	Note      func(what string)                                // for the summary
	Now       time.Time
}

// direction is one way to read a pair that a test found to be interchangeable: a page that is broken under
// from may be under to.
type direction struct {
	from, to site.URL
	level    string // of the pair: the lower the better
	named    bool   // a job names to as an alternate of from: its author answers for it
}

// directions reads the pairs that may stand for one another, the best first.
func directions(pairs []shared.PairRecord, now time.Time) []direction {
	var ways []direction
	for _, p := range pairs {
		if !p.Equal || (now.Sub(p.Tested) > hosts.TestedFor) {
			continue
		}
		one, _, err1 := site.Parse(p.Base1)
		two, _, err2 := site.Parse(p.Base2)
		if (err1 == nil) && (err2 == nil) {
			there := direction{
				from:  one,
				to:    two,
				level: p.Level,
				named: p.Named,
			}
			back := direction{from: two, to: one, level: p.Level}
			ways = append(ways, there, back)
		}
	}
	slices.SortFunc(ways, func(a, b direction) int {
		return cmp.Or(
			strings.Compare(a.level, b.level),
			strings.Compare(a.from.String(), b.from.String()),
			strings.Compare(a.to.String(), b.to.String()),
		)
	})
	return ways
}

// Find looks for broken pages and their equivalents in the other mirrors of the state. It returns the cures
// by the URLs that are broken.
func (s Search) Find(ctx context.Context) (map[string]render.Cure, error) {
	pairs, err := s.Facts.Pairs()
	if err != nil {
		return nil, err
	}
	ways := directions(pairs, s.Now)
	if len(ways) == 0 {
		return nil, nil
	}
	k, err := s.neighbours()
	if err != nil {
		return nil, err
	}
	of := map[string][]direction{} // by the origin of the broken page, the best first
	for _, w := range ways {
		of[w.from.Origin()] = append(of[w.from.Origin()], w)
	}
	found := cures{}
	for _, origin := range slices.Sorted(maps.Keys(of)) {
		for _, name := range k.names[origin] {
			for _, dir := range topmost(of[origin]) { // many pairs, records read once
				if k.addCures(ctx, name, dir, of[origin], found); ctx.Err() != nil {
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
	return found, errors.Join(k.keep(of, found), k.close())
}

// keep adds the repaired links of the published version that cannot be judged now, because a mirror cannot be
// read, as long as a pair holds that leads there.
func (k *neighbours) keep(of map[string][]direction, found cures) error {
	if len(k.unread) == 0 {
		return nil
	}
	k.noteUnread()
	published, err := k.Published()
	if err != nil {
		return err
	}
	for _, links := range published {
		for _, l := range links {
			u, _, err := site.Parse(l.Was)
			if (err != nil) || !(k.undecided[l.Was] || k.blind[u.Origin()]) {
				continue
			}
			holds := slices.ContainsFunc(of[u.Origin()], func(w direction) bool {
				return strings.HasPrefix(l.Was, w.from.String()) && strings.HasPrefix(l.To, w.to.String())
			})
			if _, ok := found[l.Was]; holds && !ok {
				found[l.Was] = render.Cure{To: l.To, Why: l.Why}
			}
		}
	}
	return nil
}

const cannotRead = "repair: the mirror of %s cannot be read now%s, " +
	"and links that this concerns stay as they are: %v"

// noteUnread says which mirrors cannot be read.
func (k *neighbours) noteUnread() {
	names := slices.Sorted(maps.Keys(k.unread))
	more := ""
	switch n := len(names) - 1; {
	case n == 1:
		more = ", nor 1 other"
	case n > 1:
		more = fmt.Sprintf(", nor %d others", n)
	}
	k.Note(fmt.Sprintf(cannotRead, names[0], more, k.unread[names[0]]))
}

// topmost returns the directories in which something may be broken, without those that lie below others of
// them.
func topmost(ways []direction) (out []site.URL) {
	var all []site.URL
	for _, w := range ways {
		all = append(all, w.from)
	}
	slices.SortFunc(all, func(a, b site.URL) int { return strings.Compare(a.String(), b.String()) })
	for _, u := range all {
		if n := len(out); (n == 0) || !strings.HasPrefix(u.String(), out[n-1].String()) {
			out = append(out, u)
		}
	}
	return out
}
