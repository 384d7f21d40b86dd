// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// leaving counts published files that leave the mirror, by the reason.
type leaving struct {
	lost    int // none of the others; limits.max_delete counts these
	refused int // the job's rules refuse them, or refuse all documents that linked to them
	// another resource has their place: of another type, extension or edition, on a list, or in a trap; where
	// many leave, also their body or text
	renamed int
}

// leaving finds out why the resources with these numbers leave. Some of the numbers may be of URLs that left
// before, in a run that was not published.
func (c *Case) leaving(ids []uint32) (l leaving, err error) {
	if len(ids) == 0 {
		return l, nil
	}
	if ids, err = notFolded(c, ids); err != nil {
		return l, err
	}
	rest := ids
	if c.Refuses != nil {
		if rest, err = c.notRefused(ids); err != nil {
			return l, err
		}
		l.refused = len(ids) - len(rest)
	}
	lost := rest
	if len(lost) > 0 {
		if lost, err = c.notRenamed(lost); err != nil {
			return l, err
		}
	}
	if (c.Live != nil) && c.dropsTooMany(len(lost)) {
		if lost, err = c.notMoved(lost); err != nil {
			return l, err
		}
	}
	l.lost, l.renamed = len(lost), len(rest)-len(lost)
	return l, nil
}

// notMoved returns those of the numbers that no longer answer, or whose published body no other resource of
// the mirror has, nor their text: a program that makes pictures at the first look may serve them at another
// address ever after, and answer addresses with a token of the visitor, which are others each time, with one
// page.
func (c *Case) notMoved(ids []uint32) (rest []uint32, err error) {
	gone, same := setOf(ids), sameAs{like: map[uint32]uint32{}, stays: map[uint32]bool{}}
	published := map[uint32]bool{} // with this body: not that of a wall that came down over everything
	bodies, kept := map[uint32][32]byte{}, map[[32]byte]bool{}
	err = c.Records.Resources(func(rec *record.Resource) error {
		if rec.SameText && (rec.Like > 0) {
			same.like[rec.ID] = rec.Like - 1
		}
		if !gone[rec.ID] {
			return nil
		}
		published[rec.ID] = rec.Changed <= c.Live.Number
		if (rec.Body != record.NoBody) && (rec.Size > 0) && (rec.Digest != [32]byte{}) {
			bodies[rec.ID], kept[rec.Digest] = rec.Digest, false
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.Records.Resources(func(rec *record.Resource) error {
		if gone[rec.ID] || !c.Table.State(rec.ID).InSet() {
			return nil
		}
		if _, wanted := kept[rec.Digest]; wanted {
			kept[rec.Digest] = true
		}
		same.stays[same.first(rec.ID)] = true
		return nil
	})
	for _, id := range ids {
		body, some := bodies[id]
		o := c.Table.State(id).Outcome()
		answers := (o == site.Fetched) || (o == site.Unchanged)
		if !answers || !published[id] || (!same.stays[same.first(id)] && (!some || !kept[body])) {
			rest = append(rest, id)
		}
	}
	return rest, err
}

// sameAs are the pages that say the same to the word.
type sameAs struct {
	like  map[uint32]uint32 // an earlier one that does
	stays map[uint32]bool   // whether one stays in the mirror, by the first that says so
}

// first returns the first page that says what another one does, which may be itself.
func (s *sameAs) first(id uint32) uint32 {
	for range mostAlike {
		before, ok := s.like[id]
		if !ok {
			break
		}
		id = before
	}
	return id
}

// mostAlike bounds how many pages lie between one and the first that says the same.
const mostAlike = 64

// notFolded returns those of the numbers for which no other URL of the mirror stands: such a URL has become a
// redirect without a request, because both are one.
func notFolded(c *Case, ids []uint32) (rest []uint32, err error) {
	for _, id := range ids {
		if to, in := c.Table.Final(id); in && (to != id) {
			rec, _, err := c.Records.Get(c.Table.URL(id))
			if err != nil {
				return nil, err
			}
			if urls.IsFolded(&rec) {
				continue
			}
		}
		rest = append(rest, id)
	}
	return rest, nil
}

// notRefused returns those of the numbers that the rules of the job do not explain. A resource is explained
// when the rules refuse its URL, or when a document that they refuse linked to it. The site's own 404 is not.
func (c *Case) notRefused(ids []uint32) (rest []uint32, err error) {
	var roots []uint32
	for id, s := range c.Table.All() {
		if s.InSet() || !s.Given() || !s.Known() {
			continue
		}
		switch refused, err := c.newlyRefuses(id, s); {
		case err != nil:
			return nil, err
		case refused:
			roots = append(roots, id)
		}
	}
	if len(roots) == 0 {
		return ids, nil
	}
	var leave urls.IDSet
	for _, id := range ids {
		leave.Put(id, true)
	}
	links := c.links()
	// documents that left, and those that would leave now
	links.Count = func(id uint32, s urls.State) bool { return !s.InSet() || leave.Has(id) }
	reached, err := urls.Reach(c.Table, links, roots)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if (c.Table.State(id).Outcome() == site.Gone) || !reached.Has(id) {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

func (c *Case) newlyRefuses(id uint32, s urls.State) (bool, error) {
	if s.Outcome() != site.OutOfScope {
		return false, nil
	}
	rec, ok, err := c.Records.Get(c.Table.URL(id))
	return ok && c.Refuses(&rec), err
}

// notRenamed returns the resources that have not become one of another type or extension. One that has
// redirects to a resource with its name, or a new one with its name is there in its place. Each resource is
// the new form of one other at most. A redirect to another name counts as a loss, new as the target may be: a
// site that wants a login may redirect each page to a login page of its own. Many sites name files after
// their build or edition (main.4f3a2b.js, style.css?v=7): all of them have other names after a deploy, and
// some have in each run. News pages link to others in each run.
func (c *Case) notRenamed(ids []uint32) (rest []uint32, err error) {
	f, err := c.comers(ids)
	if err != nil {
		return nil, err
	}
	// Who has waited least has the fewest that came since.
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b uint32) int { return cmp.Compare(f.since[b], f.since[a]) })
	taken := map[uint32]bool{}
	for _, id := range ids {
		k := stem(c.Table.URL(id))
		if to, in := c.Table.Final(id); in && (to != id) {
			if taken[to] || (stem(c.Table.URL(to)) != k) {
				rest = append(rest, id)
			}
			taken[to] = taken[to] || (stem(c.Table.URL(to)) == k)
			continue
		}
		if to, ok := c.successor(id, &f, taken); ok {
			taken[to] = true
		} else if !ofTrap(c, id) {
			rest = append(rest, id)
		}
	}
	return rest, nil
}

// ofTrap reports whether a resource still answers, and is one of a kind of pages of which the run left others
// out as a trap: what would take its place is not requested.
func ofTrap(c *Case, id uint32) bool {
	o := c.Table.State(id).Outcome()
	return c.Lost.Trapped != nil && (o == site.Fetched || o == site.Unchanged) && c.Lost.Trapped(c.Table.URL(id))
}

// comers are resources that came since others were no longer linked.
type comers struct {
	leave, sitemaps map[uint32]bool

	since map[uint32]int      // version for which each of those that leave was no longer linked
	came  map[uint32]int      // version for which a resource came
	at    map[string][]uint32 // resources by their places, the last ones to come first
}

func setOf(ids []uint32) map[uint32]bool {
	set := make(map[uint32]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// comers finds resources that may replace those that leave. One that waited as an orphan may have left
// its place in an earlier run, and others of the same place may have come and leave as well.
func (c *Case) comers(ids []uint32) (f comers, err error) {
	f = comers{
		leave:    setOf(ids),
		sitemaps: setOf(c.Sitemaps),
		since:    map[uint32]int{},
		came:     map[uint32]int{},
		at:       map[string][]uint32{},
	}
	first := c.Run.Number
	for _, id := range ids {
		if run, waits := c.Orphans[id]; waits {
			first = min(first, run)
		}
	}
	versions := map[int]int{} // of the earlier runs
	if first < c.Run.Number {
		err = c.Records.Observations(func(o *record.Observation) error {
			if o.Run < first || o.Run >= c.Run.Number {
				return nil
			}
			versions[o.Run] = o.Version
			for id := range o.Entered.All() {
				if id < c.Table.Len() && (f.leave[id] || c.Table.State(id).InSet()) {
					f.came[id] = o.Version
				}
			}
			return nil
		})
		if err != nil {
			return f, err
		}
	}
	for _, id := range ids {
		f.since[id] = c.Run.Version
		if run, waits := c.Orphans[id]; waits && versions[run] > 0 {
			f.since[id] = versions[run]
		}
	}
	for id, s := range c.Table.All() {
		if s.InSet() && s.Moved() {
			f.came[id] = c.Run.Version
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.came)) {
		for _, k := range c.places(id, &f) {
			f.at[k] = append(f.at[k], id)
		}
	}
	for _, list := range f.at {
		slices.SortStableFunc(list, func(a, b uint32) int { return cmp.Compare(f.came[b], f.came[a]) })
	}
	return f, nil
}

// successor returns a resource that came to the place of one that leaves, and has that of no other yet.
func (c *Case) successor(id uint32, f *comers, taken map[uint32]bool) (to uint32, ok bool) {
	for _, k := range c.places(id, f) {
		left := f.at[k]
		for len(left) > 0 && taken[left[0]] { // once for each: there may be very many on a shelf
			left = left[1:]
		}
		f.at[k] = left
		for _, to := range left {
			if f.came[to] < f.since[id] {
				break
			}
			if (to != id) && !taken[to] && f.came[to] > f.came[id] {
				return to, true
			}
		}
	}
	return 0, false
}

// places are the places that a resource has: its stem, what its editions have in common, the shelf of a
// requisite, and its place on a list.
func (c *Case) places(id uint32, f *comers) []string {
	u := c.Table.URL(id)
	requisite := c.Table.State(id).Requisite()
	out := append([]string{stem(u)}, editions(u, requisite)...)
	if requisite {
		out = append(out, shelf(u))
	}
	if at := f.list(c.Table, id); at != "" {
		out = append(out, at)
	}
	return out
}

// shelf is where a requisite lies: its host, its directories without those that have numbers, and the
// extension of its name.
func shelf(u site.URL) string {
	dir, name := path.Split(u.Path())
	parts := strings.Split(dir, "/")
	for i, p := range parts {
		if strings.ContainsAny(p, "0123456789") {
			parts[i] = "#"
		}
	}
	return "shelf " + u.Host() + strings.Join(parts, "/") + path.Ext(name)
}

// stem is a URL without its scheme and without what names the type of the resource: the extension, or that
// it is the index of a directory.
func stem(u site.URL) string {
	s := u.Host() + u.Path()
	s = strings.TrimSuffix(s, "/")
	from := strings.LastIndexByte(s, '/') + 1
	if dot := strings.LastIndexByte(s, '.'); (dot > from) && (from > 0) {
		s = s[:dot]
	}
	s = strings.TrimSuffix(s, "/index")
	if q, ok := u.Query(); ok {
		s += "?" + q
	}
	return s
}
