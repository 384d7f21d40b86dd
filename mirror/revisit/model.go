// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Observations are what the runs of a site observed. *store.Site has them.
type Observations interface {
	// Observations calls f for each run, oldest first, and returns the first error of f. It can be called
	// repeatedly.
	Observations(f func(o *record.Observation) error) error
}

// KnownSite describes a site: its URLs and what its runs observed.
type KnownSite struct {
	Name     string // of the site, for errors
	Primary  string // the origin whose directories begin at the root
	Table    urls.Settled
	Observed Observations
}

// SiteModel is what a policy is planned from. Its units have the numbers of the URLs.
type SiteModel struct {
	*policy.Model
	Tree  *DirTable
	Last  int     // number of the latest run
	Whole Learned // from complete runs

	origins []string // of the URLs that a policy decides about

	times  map[int]int64      // of runs that were not doubtful, Unix seconds
	ran    []int32            // numbers of these runs; the oldest is left out when there are too many
	looked []uint16           // by URL: the last of them that looked at it, from 1; 0: none did
	asked  []int              // by run, from the second: how much of what was known it requested
	back   map[policy.Dir]int // the last run in which dead links of a directory were alive again
}

// Looked returns the last run that looked at a URL, 0 when none did.
func (m *SiteModel) Looked(id uint32) int {
	if int(id) >= len(m.looked) || m.looked[id] == 0 {
		return 0
	}
	return int(m.ran[m.looked[id]-1])
}

// addRun adds a run that looks at URLs and returns its number in looked. When there are too many, what an
// older half of them looked at last counts as looked at by the oldest run that stays.
func (m *SiteModel) addRun(run int) uint16 {
	if len(m.ran) == math.MaxUint16 {
		const half = math.MaxUint16 / 2
		m.ran = append(m.ran[:0], m.ran[half:]...)
		for id, at := range m.looked {
			if at > 0 {
				m.looked[id] = max(at, half+1) - half
			}
		}
	}
	m.ran = append(m.ran, int32(run))
	return uint16(len(m.ran))
}

// LookedAt returns when that run looked at it; the zero time when none did.
func (m *SiteModel) LookedAt(id uint32) time.Time {
	at, ok := m.times[m.Looked(id)]
	if !ok {
		return time.Time{}
	}
	return time.Unix(at, 0)
}

// isBack reports whether dead links of the directory of a URL were alive again since a run looked at it.
func (m *SiteModel) isBack(id uint32) bool { return m.back[m.DirOf(policy.ID(id))] >= m.Looked(id) }

// learnedRuns is how many of the latest runs a model learns from. Of earlier runs it knows what entered and
// left.
const learnedRuns = 500

// ModelOptions say how a model is made.
type ModelOptions struct {
	Run      int        // number of the run in progress: what it has observed so far is not learned
	Listings urls.IDSet // the URLs that are units of the kind policy.Listing

	// directories are as they are, for rules; else one that holds only its index may count as a page of the one
	// above
	Exact    bool
	Looks    bool          // runs that lie close together are one look, see LookGap
	Interval time.Duration // of the schedule; 0 for a job without one
	Told     toldTimes     // of earlier runs
}

// Model learns from the past.
func (k KnownSite) Model(o ModelOptions) (*SiteModel, error) {
	l := learner{
		known:        k,
		ModelOptions: o,
		m: &SiteModel{
			Model:  policy.NewModel(),
			Tree:   k.dirs(o),
			looked: make([]uint16, k.Table.Len()),
			back:   map[policy.Dir]int{},
			times:  map[int]int64{},
		},
	}
	in, err := l.before()
	if err != nil {
		return nil, err
	}
	if err := l.addUnits(in); err != nil {
		return nil, err
	}
	l.looks.learn = l.m.Learn
	n := 0
	err = k.Observed.Observations(func(o *record.Observation) error {
		if o.Run != l.Run {
			n++
			l.learn(o, n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.looks.flush()
	for id, s := range k.Table.All() {
		l.m.SetIn(policy.ID(id), s.Governed())
	}
	return l.m, nil
}

// dirs are the directories of a model.
func (k KnownSite) dirs(o ModelOptions) *DirTable {
	if o.Exact {
		return NewDirTable(k.Primary)
	}
	return k.weighedDirs(o.Listings)
}

// learner makes a model.
type learner struct {
	known KnownSite
	ModelOptions
	m     *SiteModel
	skip  int // so many of the first runs are too old to learn from
	looks looks
}

// each calls f for the numbers of a set that the table knows.
func (l *learner) each(ids record.IDs, f func(id uint32)) {
	for id := range ids.All() {
		if id >= l.known.Table.Len() {
			break
		}
		f(id)
	}
}

// before counts the runs, and returns what was in the mirror before those that are learned.
func (l *learner) before() (in urls.IDSet, err error) {
	var times []int64
	err = l.known.Observed.Observations(func(o *record.Observation) error {
		if o.Run != l.Run {
			times = append(times, o.Time)
		}
		return nil
	})
	if l.Looks {
		l.looks.gap = LookGap(l.Interval, times)
	}
	if l.skip = len(times) - learnedRuns; err != nil || l.skip <= 0 {
		return in, err
	}
	n := 0
	err = l.known.Observed.Observations(func(o *record.Observation) error {
		if n++; n <= l.skip {
			l.each(o.Entered, func(id uint32) { in.Put(id, true) })
			l.each(o.Left, func(id uint32) { in.Put(id, false) })
			l.each(o.Joined, func(id uint32) { in.Put(id, false) })
		}
		return nil
	})
	return in, err
}

// addUnits adds the URLs to the model.
func (l *learner) addUnits(in urls.IDSet) error {
	t, m := l.known.Table, l.m
	m.Grow(int(t.Len()))
	mimes, docs := t.MIMEs(), urls.DocumentTypes(t.MIMEs())
	urls, origin, origins := t.Reader(), "", map[string]bool{}
	for id, s := range t.All() {
		d, k, name := policy.Root, policy.Page, ""
		if s.Given() {
			u := urls.URL(id)
			if s.Governed() && u.Origin() != origin {
				if origin = u.Origin(); !origins[origin] {
					origins[origin], m.origins = true, append(m.origins, origin)
				}
			}
			var folded bool
			d, folded = m.Tree.of(u)
			for m.Dirs() < len(m.Tree.path) {
				n := policy.Dir(m.Dirs())
				if _, err := m.AddDirNamed(m.Tree.parent[n], path.Base(m.Tree.path[n])); err != nil {
					return err
				}
			}
			k, name = unitKind(u, mimes[s.Type()], docs[s.Type()]), unitName(u)
			switch {
			case l.Listings.Has(id):
				k, name = policy.Listing, ""
			case folded:
				name = path.Base(u.Dir()) + name
			}
		}
		if _, err := m.AddNamed(d, k, name, in.Has(id)); err != nil {
			return err
		}
	}
	return nil
}

// learn takes what the n-th run observed.
func (l *learner) learn(o *record.Observation, n int) {
	l.m.Last = max(l.m.Last, o.Run)
	if !o.Doubtful {
		l.look(o)
	}
	if n <= l.skip {
		return
	}
	var s lookSets
	if !o.Doubtful { // what a doubtful run found may be an error of the site: only its time counts
		s = lookSets{
			asked:   o.Asked,
			spared:  o.Spared,
			changed: o.Changed,
			entered: o.Entered,
			left:    o.Left,
			told:    l.Told[o.Run],
		}
		if n > 1 {
			s.naming = namedBy(l.known.Table, o.Entered)
		}
	}
	l.looks.take(o.Time, s)
}

// look takes what a run looked at, and where something missing came back.
func (l *learner) look(o *record.Observation) {
	m := l.m
	m.times[o.Run] = o.Time
	if o.Complete {
		m.Whole.add(o.Time, l.looks.gap)
	}
	at := m.addRun(o.Run)
	if len(m.times) > 1 { // the first run knew of nothing
		m.asked = append(m.asked, max(0, o.Asked.Len()-o.Entered.Len()))
	}
	l.each(o.Entered, func(id uint32) {
		if m.looked[id] > 0 {
			m.back[m.DirOf(policy.ID(id))] = o.Run
		}
	})
	for _, s := range slices.Concat(o.Asked, o.Spared) {
		end := min(uint64(s.Last)+1, uint64(len(m.looked)))
		for id := uint64(s.First); id < end; id++ {
			m.looked[id] = at
		}
	}
}

// namedBy returns the documents that were the first to name some URLs.
func namedBy(t urls.Settled, ids record.IDs) (out record.IDs) {
	var docs []uint32
	for id := range ids.All() {
		if id >= t.Len() {
			break
		}
		if ref := t.State(id).Referrer(); ref > 0 && (len(docs) == 0 || docs[len(docs)-1] != ref-1) {
			docs = append(docs, ref-1)
		}
	}
	slices.Sort(docs)
	for _, id := range slices.Compact(docs) {
		out.Add(id)
	}
	return out
}

// unitKind tells pages from assets by the type that the site gave, and by the name when it gave none.
func unitKind(u site.URL, mime string, document bool) policy.Kind {
	switch {
	case mime == "":
		return policy.KindOf(u.Path())
	case document && mime != "text/css" && !strings.HasPrefix(mime, "image/"):
		return policy.Page
	}
	return policy.Asset
}

// unitName is what units of the same kind in different directories have in common: the last name of the path,
// "/" for a directory's own page.
func unitName(u site.URL) string {
	p := u.Path()
	if name := p[strings.LastIndexByte(p, '/')+1:]; name != "" {
		return name
	}
	return "/"
}
