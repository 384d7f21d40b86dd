// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"path"

	"mirrord/evolution/policy"
)

// driver lets a policy of package policy act in a world. It keeps the policy's model: units are pages and
// listings, in the order in which they were found, and all that the model ever learns is what requests have
// shown.
type driver struct {
	*History
	Options
	m     *policy.Model
	rules *ruleBook // of a policy that follows rules
	folds []bool    // by Dir: indexes alone in directories below it count as pages of the ones above
	purse policy.Purse
	again *relearner // nil: the rules are those of the training

	page  []policy.ID // by Page, plus one; 0 for none
	list  []policy.ID // by Dir, plus one
	units []unit      // by policy.ID
	seen  []seen      // by policy.ID: in this run
}

// unit is what a unit of the model is in the world.
type unit struct {
	page Page
	dir  Dir // of a listing; -1: it is a page
}

// seen is what a run has observed of a unit.
type seen uint8

const (
	asked seen = 1 << iota
	changed
	entered
	left
	linksNew // it named unknown pages
)

func newDriver(h *History, o Options, p policy.Definition) (*driver, error) {
	d := &driver{
		History: h,
		Options: o,
		m:       policy.NewReordered(o.Order),
		page:    make([]policy.ID, h.Pages()),
		list:    make([]policy.ID, h.Dirs()),
	}
	w := NewWorld(h, 1)
	if !p.Rules {
		d.folds = NewWorld(h, o.Train).folds()
	}
	if p.Rules && o.Relearn {
		d.again = newRelearner(o.Near)
	} else if p.Rules {
		var err error
		if d.rules, err = newRuleBook(h, o); err != nil {
			return nil, err
		}
	}
	if !h.Linked() {
		root, err := d.listingOf(Root)
		if err != nil {
			return nil, err
		}
		d.seen[root] = asked | entered
	}
	return d, d.train(w)
}

// train lets the model learn from the full syncs.
func (d *driver) train(w *World) error {
	for range d.Train {
		for u := range d.units {
			if d.m.In(policy.ID(u)) {
				d.seen[u] |= asked
			}
		}
		if err := d.trainOne(w); err != nil {
			return err
		}
		if err := d.learn(w.Now()); err != nil {
			return err
		}
		w.Step()
	}
	return nil
}

// trainOne observes everything that the step to the current version has changed. The listing of a directory
// changed when a name came or went.
func (d *driver) trainOne(w *World) error {
	for _, c := range d.Versions[w.Now()].Changes {
		u, err := d.unitOf(w, c.Page)
		if err != nil {
			return err
		}
		switch in := d.m.In(u); {
		case c.Content == Gone:
			d.seen[u] |= asked | left
		case in:
			d.seen[u] |= asked | changed
		default:
			d.seen[u] |= asked | entered
		}
		if d.seen[u]&(left|entered) == 0 {
			continue
		}
		if d.Linked() {
			d.broughtBy(c.Page)
			continue
		}
		// Up to the first directory that neither came nor went: its listing names another entry now.
		for dir := d.DirOf(c.Page); dir >= 0; dir = d.Parent(dir) {
			l, err := d.listingOf(dir)
			if err != nil {
				return err
			}
			in, is := d.m.In(l), w.live[dir] > 0 || dir == Root
			switch {
			case in && is:
				d.seen[l] |= asked | changed
			case in:
				d.seen[l] |= asked | left
			case is:
				d.seen[l] |= asked | entered
			}
			if in == is {
				break
			}
		}
	}
	return nil
}

// folds says below which directories those that hold only their index now count as pages of the ones above,
// as in a job.
func (w *World) folds() []bool {
	n := w.h.Dirs()
	parent, live, only := make([]policy.Dir, n), make([]bool, n), make([]bool, n)
	for d := 1; d < n; d++ {
		parent[d], live[d] = policy.Dir(w.h.Parent(Dir(d))), w.live[d] > 0
	}
	for p, is := range w.Site {
		if is != Gone && w.isOnlyIndex(Page(p)) {
			only[w.h.DirOf(Page(p))] = true
		}
	}
	return policy.Folds(parent, live, only)
}

// isOnlyIndex reports whether a page is the index of a directory, not the root, that holds nothing else now.
func (w *World) isOnlyIndex(p Page) bool {
	d := w.h.DirOf(p)
	return d != Root && w.live[d] == 1 && policy.IsIndex(path.Base(w.h.Path(p)))
}

// unitOf is the unit of a page, made when it is missing.
func (d *driver) unitOf(w *World, p Page) (policy.ID, error) {
	if u := d.page[p]; u != 0 {
		return u - 1, nil
	}
	at, name := d.DirOf(p), path.Base(d.Path(p))
	in, err := d.dirOf(at)
	if err != nil {
		return 0, err
	}
	if d.folds != nil && w.isOnlyIndex(p) && d.folds[d.Parent(at)] {
		in, name = policy.Dir(d.Parent(at)), path.Base(d.DirPath(at))+"/"+name
	}
	u, err := d.add(in, policy.KindOf(d.Path(p)), name, unit{p, -1})
	if err == nil {
		d.page[p] = u + 1
	}
	return u, err
}

// add adds a unit to the model.
func (d *driver) add(in policy.Dir, kind policy.Kind, name string, is unit) (policy.ID, error) {
	u, err := d.m.AddNamed(in, kind, name, false)
	if err == nil {
		d.units, d.seen = append(d.units, is), append(d.seen, 0)
	}
	return u, err
}

// listingOf is the unit of a directory's listing.
func (d *driver) listingOf(dir Dir) (policy.ID, error) {
	if u := d.list[dir]; u != 0 {
		return u - 1, nil
	}
	in, err := d.dirOf(dir)
	if err != nil {
		return 0, err
	}
	u, err := d.add(in, policy.Listing, "", unit{-1, dir})
	if err == nil {
		d.list[dir] = u + 1
	}
	return u, err
}

// dirOf is a directory of the model. Both number directories in the order in which they first were, so the
// numbers are the same; those that the policy has not found have no units, and tell it nothing.
func (d *driver) dirOf(dir Dir) (policy.Dir, error) {
	for n := Dir(d.m.Dirs()); n <= dir; n++ {
		if _, err := d.m.AddDirNamed(policy.Dir(d.Parent(n)), path.Base(d.DirPath(n))); err != nil {
			return 0, err
		}
	}
	return policy.Dir(dir), nil
}

// learn gives the model what the run has observed, and forgets it.
func (d *driver) learn(version int) error {
	if d.again != nil {
		if err := d.again.take(d, d.Versions[version].Time.Unix()); err != nil {
			return err
		}
	}
	r := policy.Run{Time: d.Versions[version].Time.Unix()}
	for u, s := range d.seen {
		if s == 0 {
			continue
		}
		id := uint32(u)
		add(&r.Asked, id)
		if s&changed != 0 {
			add(&r.Changed, id)
		}
		if s&entered != 0 {
			add(&r.Entered, id)
		}
		if s&left != 0 {
			add(&r.Left, id)
		}
		if s&linksNew != 0 {
			add(&r.Naming, id)
		}
	}
	clear(d.seen)
	d.m.Learn(&r)
	return nil
}

// add appends a number that is larger than all in the set.
func add(s *[]policy.Span, id uint32) {
	if n := len(*s); n > 0 && (*s)[n-1].Last+1 == id {
		(*s)[n-1].Last = id
		return
	}
	*s = append(*s, policy.Span{First: id, Last: id})
}

// act is one run of the policy.
func (d *driver) act(w *World) error {
	o := policy.Options{
		Policy:  d.Policy,
		Now:     d.Versions[w.Now()].Time.Unix(),
		Price:   d.Price,
		PriceMB: d.PriceMB,
		Weights: transfers{d, w},
		Late:    int64(d.Late.Seconds()),
		MaxSkip: d.MaxSkip,
		MaxAge:  int64(d.MaxAge.Seconds()),
	}
	own := d.MaxRequests
	if d.Budget > 0 {
		own = max(1, int(d.Budget*float64(d.knownUnits())))
		o.Own = own
	}
	if own > 0 {
		o.Budget = d.purse.Budget(own)
	}
	if d.again != nil {
		var err error
		if o.Skips, err = d.again.skips(); err != nil {
			return err
		}
		o.Audits = jobAudits
	}
	if d.rules != nil {
		var err error
		if o.Skips, err = d.rules.skips(d); err != nil {
			return err
		}
		o.Every = d.Expire
	}
	p, err := d.Policies.Plan(d.m, o)
	if err != nil {
		return err
	}
	var more found
	d.begin(w, p, &more)
	if err := d.follow(w, p, &more); err != nil {
		return err
	}
	made := w.Requests()
	if d.Budget == 0 { // the limit of a job is for what the mirror already has
		made -= w.Fresh()
	}
	d.purse.Spend(own, made)
	return d.finish(w, &more)
}

// follow makes the requests of a plan. When the plan hands out a batch it knows the outcomes of all batches
// before but the last one, as in a job.
func (d *driver) follow(w *World, p policy.Plan, more *found) error {
	most, ahead := d.Batch, d.Batch > 1
	if ahead {
		most = d.Batch / 2
	}
	var waiting []policy.Ask
	for {
		now := p.Next(most)
		if ahead {
			now, waiting = waiting, now
		}
		if len(now) == 0 && len(waiting) == 0 {
			return nil
		}
		for _, a := range now {
			if int(a.Unit) >= len(d.units) {
				return fmt.Errorf("policy %s asks for unit %d of %d", d.Policy, a.Unit, len(d.units))
			}
			if x := d.units[a.Unit]; x.dir >= 0 {
				d.askListing(w, p, a.Unit, x.dir, more)
			} else {
				d.askPage(w, p, a.Unit, x.page, more)
			}
		}
	}
}

func (d *driver) knownUnits() (n int) {
	for u := range d.units {
		if d.m.In(policy.ID(u)) {
			n++
		}
	}
	return n
}

// found is the units of listings that the model does not know.
type found struct {
	pages []Page
	dirs  []Dir
}

func (d *driver) askPage(w *World, p policy.Plan, u policy.ID, page Page, more *found) {
	d.seen[u] |= asked
	result := policy.Unchanged
	switch w.Page(page) {
	case Changed:
		result = policy.Changed
		d.seen[u] |= changed
	case Left:
		result = policy.Gone
		d.seen[u] |= left
	case Entered:
		result = policy.Changed
		d.seen[u] |= entered
	case Absent:
		result = policy.Gone
		d.seen[u] |= left
	}
	n := d.entered(p, w.Named(page), more)
	p.Tell(policy.Outcome{Unit: u, Result: result, New: n})
}

// entered takes in the pages that a request fetched, and returns how many they are.
func (d *driver) entered(p policy.Plan, s *ListingSeen, more *found) int {
	for _, page := range s.Entered {
		if l := d.page[page]; l != 0 { // it was there before
			d.seen[l-1] |= asked | entered
			p.Tell(policy.Outcome{Unit: l - 1, Result: policy.Changed})
		} else {
			more.pages = append(more.pages, page)
		}
		d.broughtBy(page)
	}
	return len(s.Entered)
}

func (d *driver) askListing(w *World, p policy.Plan, u policy.ID, dir Dir, more *found) {
	s := w.Listing(dir)
	d.seen[u] |= asked
	o := policy.Outcome{Unit: u}
	for _, page := range s.Left {
		if l := d.page[page]; l != 0 {
			d.seen[l-1] |= asked | left
			p.Tell(policy.Outcome{Unit: l - 1, Result: policy.Gone})
		}
		o.Result = policy.Changed
	}
	o.New = d.entered(p, s, more)
	for i, sub := range s.Listings {
		switch l := d.list[sub]; {
		case i == 0:
			if !s.NonEmpty[0] && sub != Root {
				d.seen[u] |= left
				o.Result = policy.Gone
			}
		case l != 0:
			d.seen[l-1] |= asked | entered
			p.Tell(policy.Outcome{Unit: l - 1, Result: policy.Changed})
			o.New++
		default:
			more.dirs = append(more.dirs, sub)
			o.New++
		}
	}
	if o.New > 0 {
		o.Result = policy.Changed
	}
	if o.Result == policy.Changed {
		d.seen[u] |= changed
	}
	p.Tell(o)
}

// finish numbers the new units and ends the run.
func (d *driver) finish(w *World, more *found) error {
	for _, p := range more.pages {
		u, err := d.unitOf(w, p)
		if err != nil {
			return err
		}
		d.seen[u] |= asked | entered
	}
	for _, dir := range more.dirs {
		u, err := d.listingOf(dir)
		if err != nil {
			return err
		}
		d.seen[u] |= asked | entered
	}
	return d.learn(w.Now())
}
