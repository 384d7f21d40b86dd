// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mirrord/app/look"
	"mirrord/mirror/finish"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// Repairs keeps runs and the repair of sites apart: a run never waits for a site that is being repaired. Safe
// for concurrent use; the zero value is ready.
type Repairs struct {
	mu    sync.Mutex
	runs  map[string]int // of each site
	sites map[string]*siteRepair
}

// siteRepair is a repair of a site in progress.
type siteRepair struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Run says that a run of a site begins: it ends a repair in progress, and no other begins until end is
// called. The run repairs the site itself.
func (h *Repairs) Run(name string) (end func()) {
	if h == nil { // no scrub beside this runner
		return func() {}
	}
	h.mu.Lock()
	if h.runs == nil {
		h.runs = map[string]int{}
	}
	h.runs[name]++
	x := h.sites[name]
	h.mu.Unlock()
	if x != nil {
		x.cancel()
		<-x.done
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.runs[name]--; h.runs[name] == 0 {
			delete(h.runs, name)
		}
	}
}

// begin says that a repair of a site begins; ok is false during a run of it. The context ends
// when a run begins; end must be called.
func (h *Repairs) begin(ctx context.Context, name string) (within context.Context, end func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[name] > 0 {
		return nil, nil, false
	}
	within, cancel := context.WithCancel(ctx)
	x := &siteRepair{cancel: cancel, done: make(chan struct{})}
	if h.sites == nil {
		h.sites = map[string]*siteRepair{}
	}
	h.sites[name] = x
	return within, func() {
		h.mu.Lock()
		delete(h.sites, name)
		h.mu.Unlock()
		cancel()
		close(x.done)
	}, true
}

// commonProblems returns the problems that another check has found too.
func commonProblems(of, other []upkeep.Problem) []upkeep.Problem {
	return slices.DeleteFunc(of, func(p upkeep.Problem) bool {
		return !slices.ContainsFunc(other, func(q upkeep.Problem) bool {
			return p.Kind == q.Kind && p.Subject == q.Subject
		})
	})
}

// damageOf is the damage that a problem is.
func damageOf(name string, p upkeep.Problem, at time.Time) look.FoundDamage {
	d := look.FoundDamage{Kind: p.Kind, Damage: status.Damage{File: p.Subject, What: p.Detail, Found: at}}
	switch p.Kind {
	case upkeep.BadFrame, upkeep.BadBlob:
		d.Do = "the next run requests it again"
	case upkeep.BadTree, upkeep.BadCurrent:
		d.Do = "the next run makes it again from its stored body"
	case upkeep.BadLog:
		d.Do = "the next run begins it again"
	case upkeep.BadHead:
		d.Do = "nothing else is lost, and mirrord gc forgets it"
	default:
		d.File, d.Do = status.DatabaseFile, status.RebuildHint(name)
		d.Kind = upkeep.BadDatabase
	}
	return d
}

// found repairs the damage that was found, as far as that is possible now.
func (s *Scrubber) found(ctx context.Context, name string, n *look.ScrubNote, problems []upkeep.Problem) {
	now := s.State.Now()
	for _, p := range problems {
		d := damageOf(name, p, now)
		s.App.Log.Warn("damage found", "job", name, "kind", string(d.Kind), "file", d.File, "err", d.What)
		n.Add(d)
	}
	s.mend(ctx, name, n)
}

// mend makes again the files that can be made from stored data: the database, its log, bodies from copies
// of them, published files. A run that begins ends it, and does the same.
func (s *Scrubber) mend(ctx context.Context, name string, n *look.ScrubNote) {
	within, end, ok := s.Repairs.begin(ctx, name)
	if !ok {
		return
	}
	defer end()
	site, err := s.State.OpenSite(name) // a damaged database is made again from its log
	if err == nil {
		s.redone(name, n)
		err = s.mendOpen(within, site, n)
		err = errors.Join(err, site.Close())
	}
	if err != nil && within.Err() == nil && !errors.Is(err, disk.ErrLocked) {
		s.App.Log.Warn("damage could not be repaired yet", "job", name, "err", err)
	}
}

// renewLog opens a site whose log the power has cut, which begins the log again.
func (s *Scrubber) renewLog(ctx context.Context, name string) {
	_, end, ok := s.Repairs.begin(ctx, name)
	if !ok {
		return // a run does the same
	}
	defer end()
	site, err := s.State.OpenSite(name)
	if err == nil {
		err = site.Close()
	}
	if err != nil && !errors.Is(err, disk.ErrLocked) {
		s.App.Log.Warn("the log of its database could not be begun again yet", "job", name, "err", err)
	}
}

// mendOpen is mend for a site that is open.
func (s *Scrubber) mendOpen(ctx context.Context, site *store.Site, n *look.ScrubNote) error {
	if n.Has(upkeep.BadLog) {
		if err := site.RenewLog(); err != nil {
			return err
		}
		s.repaired(n, []upkeep.ProblemKind{upkeep.BadLog}, "begun again with all that the database has", nil)
	}
	if !n.Has(look.BodyKinds()...) && !n.Has(treeKinds()...) {
		return nil
	}
	if err := n.NoteIn(site); err != nil {
		return err
	}
	m, err := finish.Site(ctx, s.State, site, false)
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for i := range m.Lost {
		left[m.Lost[i].URL] = true
		n.Lost(site.Name, &m.Lost[i])
	}
	for _, d := range slices.Clone(n.All) {
		if slices.Contains(look.BodyKinds(), d.Kind) && slices.Contains(m.Bodies, d.File) && !left[d.File] {
			n.Repair(d, s.State.Now(), "replaced by a good copy")
		}
	}
	wrong, err := site.Notes.WrongFiles()
	if err != nil || m.Tree != nil {
		return errors.Join(err, m.Tree)
	}
	for _, p := range wrong {
		left[p] = true
	}
	s.repaired(n, treeKinds(), "made again from the stored bodies", left)
	return nil
}

func treeKinds() []upkeep.ProblemKind { return []upkeep.ProblemKind{upkeep.BadTree, upkeep.BadCurrent} }

// repaired records that damage of some kinds is repaired, but for some files.
func (s *Scrubber) repaired(n *look.ScrubNote, kinds []upkeep.ProblemKind, how string, but map[string]bool) {
	for _, d := range slices.Clone(n.All) {
		if slices.Contains(kinds, d.Kind) && !but[d.File] {
			n.Repair(d, s.State.Now(), how)
		}
	}
}

// settleEvery is the time after which damage that stayed is looked at again.
const settleEvery = time.Hour

// settle looks whether damaged files are good again, and reports whether something changed: a run has
// requested bodies again and no longer notes them as damaged, or it has tried in vain.
func (s *Scrubber) settle(ctx context.Context, name string, n *look.ScrubNote, now time.Time) (changed bool) {
	if len(n.All) == 0 {
		return false
	}
	if _, j, _ := s.Job(name); j.Activity == status.Running || j.Activity == status.Ending {
		return false
	}
	noted, err := look.NotedDamage(s.State, name)
	old := now.Sub(n.Checked) >= settleEvery
	ready := func(d look.FoundDamage) bool { return (old && !d.Noted()) || (d.Noted() && !noted[d.File]) }
	if err != nil || !slices.ContainsFunc(n.All, ready) {
		return false
	}
	n.Checked = now
	s.mend(ctx, name, n)
	want := map[string]bool{}
	for i := range n.All {
		want[n.All[i].File] = true
	}
	c := s.paced(ctx, name, n)
	c.pick = func(url string) bool { return want[url] }
	c.also = c.pick // paths
	found, err := c.check(ctx, s.State, name)
	if err != nil {
		return true
	}
	still := map[string]bool{}
	for _, p := range found {
		still[damageOf(name, p, now).File] = true
	}
	for _, d := range slices.Clone(n.All) {
		if !still[d.File] {
			n.Repair(d, now, "it is good again")
		}
	}
	return true
}

// readersSee looks, each time, at whether there is something to read, and makes it again when there is not.
func (s *Scrubber) readersSee(ctx context.Context, name string, n *look.ScrubNote) (changed bool) {
	_, j, _ := s.Job(name)
	if j.Version == 0 || j.Activity == status.Running || j.Activity == status.Ending {
		return false
	}
	p := trees.LookAt(s.State.Dir, name, false).Text
	if p == "" || look.Publishing(s.State, name) {
		return false
	}
	was := len(n.All)
	n.Add(damageOf(name, upkeep.Problem{Kind: upkeep.BadCurrent, Subject: "current", Detail: p}, s.State.Now()))
	if len(n.All) > was {
		s.App.Log.Warn("damage found", "job", name, "kind", string(upkeep.BadCurrent), "err", p)
		s.mend(ctx, name, n)
	}
	return len(n.All) > was || len(n.Untold) > 0
}

// redone takes in that a database was made again from its log, by a run or by hand.
func (s *Scrubber) redone(name string, n *look.ScrubNote) (changed bool) {
	r, err := store.LastRedone(s.State, name)
	if err != nil || r.At.IsZero() || r.At.Equal(n.Redone) {
		return false
	}
	n.Redone = r.At
	d := look.FoundDamage{
		Kind:   upkeep.BadDatabase,
		Damage: status.Damage{File: status.DatabaseFile, What: r.Why, Found: r.At},
	}
	n.Repair(d, r.At, "made again from its log, and nothing is lost")
	return true
}

// report notifies people, once, of damage and of its repair, and reports whether there was something.
func (s *Scrubber) report(name string, n *look.ScrubNote) bool {
	var fresh, good []status.Damage
	for i := range n.All {
		if d := &n.All[i]; !d.Told {
			d.Told = true
			fresh = append(fresh, d.Damage)
		}
	}
	for i := range n.Untold {
		good = append(good, n.Untold[i].Damage)
		s.App.Log.Info("damage repaired", "job", name, "file", n.Untold[i].File, "how", n.Untold[i].Do)
	}
	n.Untold = nil
	j, about, ok := s.Job(name)
	about.WithScrub(n.Shown(), n.Fix(name))
	about.Problems = nil // they are in the message
	say := func(kind status.Kind, list []status.Damage) {
		if !ok || len(list) == 0 {
			return
		}
		about.Scrub = &status.Scrub{
			Damaged:  len(n.All),
			Repaired: n.Repaired,
			Found:    list[:min(len(list), status.MostDamage)],
		}
		s.Tell(kind, j, about)
	}
	say(status.TellDamaged, fresh)
	say(status.TellRepaired, good)
	return len(fresh)+len(good) > 0
}
