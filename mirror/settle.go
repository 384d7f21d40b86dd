// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"

	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// settle moves what retrieval found into the records that are kept, with mirror paths for what is new, and decides what a
// complete run no longer reaches.
func (r *run) settle(j *judgement, retrieved bool) error {
	r.choosePrimary()
	twins, err := r.assignNames()
	if err != nil {
		return err
	}
	fold := r.folding()
	if err := r.site.Records.Fold(fold); err != nil {
		return err
	}
	if err := r.keepTwins(twins); err != nil {
		return err
	}
	if j.verdict == Complete && (!r.o.NoFetch || r.o.Accept) {
		if r.live != nil {
			if err := r.dropUnreached(j); err != nil {
				return err
			}
		}
		if err := r.judgeSoft404(j); err != nil {
			return err
		}
		if err := r.judgeShapes(j); err != nil {
			return err
		}
		if err := r.site.Records.Fold(fold); err != nil {
			return err
		}
	}
	if j.verdict == Complete && r.rescan {
		if err := r.site.Notes.SetFingerprint(r.fingerprint); err != nil {
			return err
		}
	}
	if err := r.observations(j); err != nil {
		return err
	}
	if j.verdict == Suspicious || j.anew && j.left == 0 {
		if err := r.askAllNext(); err != nil {
			return err
		}
		return r.site.Notes.SetRun(nil) // what was retrieved is kept; the next run asks anew, accept publishes this one
	}
	r.state.Retrieved = retrieved && j.left == 0 && j.verdict == Complete
	r.state.Requests += int(r.stats.Requests.Load())
	return r.site.Notes.SetRun(r.state)
}

// choosePrimary decides whose files lie at the root of the tree: the origin to which the first entry point leads, so that a site that is
// named without https or www is not a folder of its own mirror. What the first version chose stays, because mirror paths do.
func (r *run) choosePrimary() {
	if r.live != nil {
		m := render.MetaOf(r.live)
		if m == nil {
			m = r.publishedMeta()
		}
		if (m != nil) && m.Primary != "" {
			r.layout.Primary = m.Primary
		}
		return
	}
	t := r.table.Settled()
	if id, ok := t.Find([]byte(r.rules.Seeds[0].String())); ok {
		if f, in := t.Final(id); in {
			r.layout.Primary = t.URL(f).Origin()
		}
	}
}

// publishedMeta reads phm.json of the published tree, nil when it cannot be read.
func (r *run) publishedMeta() *phm.Meta {
	root, err := r.site.Trees.Current()
	if err != nil {
		return nil
	}
	defer root.Close()
	m, err := phm.OpenMeta(root.FS())
	if err != nil {
		return nil
	}
	return m
}

// folding says how the journal becomes records: URLs that still wait are kept as such, mirror paths are those of the table.
func (r *run) folding() store.Folding {
	t := r.table.Settled()
	return store.Folding{
		Version: r.version,
		Path:    func(rec *store.Resource) string { return t.Path(rec.ID) },
		Pending: func(id uint32) bool {
			s := t.State(id)
			return s.Outcome() == site.Pending && !s.Known()
		},
	}
}

// assignNames gives a mirror path to every resource of the mirror that has none and does not share a file. The order, and so the result, depends
// on the URLs and bodies alone, not on the order in which they were found.
func (r *run) assignNames() (*twins, error) {
	t := r.table.Settled()
	namer := phm.NewNamer(r.layout, int(t.Len()))
	var fresh []uint32
	for _, inSet := range []bool{true, false} { // what has left may have handed its path on
		for id, s := range t.All() {
			if s.InSet() != inSet {
				continue
			}
			switch p := t.Path(id); {
			case p != "":
				if err := namer.Reserve(p); err != nil {
					t.Displace(id)
					if inSet {
						r.log.Warn("mirror path is given anew", "url", t.URL(id).String(), "err", err)
						fresh = append(fresh, id)
					}
				}
			case inSet:
				fresh = append(fresh, id)
			}
		}
	}
	twins, err := r.findTwins(fresh)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fresh, func(a, b uint32) int { return phm.Compare(t.URL(a), t.URL(b)) })
	for _, id := range fresh {
		if twins.share(r, id) {
			continue
		}
		t.Place(id, namer.Assign(t.URL(id), t.MIME(id)))
		if twins.rec[id].shared {
			twins.apart = append(twins.apart, id)
		}
	}
	r.shared = render.SharedURLs(t)
	return twins, nil
}

// dropUnreached takes out of the mirror what no document of it links to any more. Only a complete run may do so: what failed or
// was not asked keeps its links, so that its children stay; and what skipped documents may have come to link to waits (watch).
func (r *run) dropUnreached(j *judgement) error {
	if r.keepsForeign() {
		return nil
	}
	t := r.table.Settled()
	reached := make([]uint64, t.Len()/64+1)
	var stack, docs []uint32
	types := ledger.DocumentTypes(t.MIMEs())
	push := func(id uint32) bool {
		if id < store.Mention {
			id &^= store.Guess
		}
		if id < t.Len() && reached[id/64]&(1<<(id%64)) == 0 {
			reached[id/64] |= 1 << (id % 64)
			stack = append(stack, id)
		}
		return true
	}
	for _, u := range r.rules.Seeds {
		if id, ok := t.Find([]byte(u.String())); ok {
			push(id)
		}
	}
	for _, id := range r.traits.Sitemaps() { // those that were read or spared, and, when nothing was asked, all that are known
		if s := t.State(id); r.o.NoFetch || s.Answered() || (r.planned() && s.Governed()) {
			push(id)
		}
	}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s := t.State(id)
		if s.Target() > 0 {
			push(s.Target() - 1)
		}
		if !s.InSet() && !r.traits.Sitemap(id) {
			continue
		}
		targets, err := r.site.Records.TargetsOf(id)
		if err != nil {
			return err
		}
		if len(targets) > 0 || types[s.Type()] {
			docs = append(docs, id)
		}
		store.Targets(targets, push)
	}
	var unreached []uint32
	live, dropped := 0, 0
	published := func(s ledger.State) bool { return s.InSet() && !s.Moved() } // what an unfinished run fetched and nobody saw is no loss
	for id, s := range t.All() {
		if s.Governed() && reached[id/64]&(1<<(id%64)) == 0 {
			unreached = append(unreached, id)
		}
		if published(s) {
			live++
		}
	}
	lost, err := r.watch(unreached, docs)
	if err != nil || len(lost) == 0 {
		return err
	}
	for _, id := range lost {
		if published(t.State(id)) {
			dropped++
		}
	}
	if !r.o.Accept && r.tooMany(dropped) {
		j.suspicious("%d of %d resources are no longer linked from anywhere, more than limits.max_delete = %v", dropped, live, r.job.Limits.MaxDelete)
		return nil
	}
	err = r.amend(lost, func(rec *store.Resource) {
		r.stats.Hold(r.leave(rec))
		rec.Reason = "nothing in the mirror links to it any more"
		t.Leave(rec.ID)
	})
	r.shared = render.SharedURLs(t) // without the URLs that have just left
	return err
}

// amend changes the records of some URLs after retrieval. A Fold must follow.
func (r *run) amend(ids []uint32, change func(*store.Resource)) error {
	t := r.table.Settled()
	batch := make([]*store.Done, 0, min(len(ids), batchItems))
	for _, id := range ids {
		rec, ok, err := r.site.Records.Get(t.URL(id)) // not r.record: what this run found was folded a moment ago
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		change(&rec)
		batch = append(batch, &store.Done{Resource: rec})
		if len(batch) == batchItems {
			if err := r.site.Records.Commit(t.Len(), nil, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return r.site.Records.Commit(t.Len(), nil, batch)
}

// calm ends a complete run that had nothing to publish: what it took for changed is as the published version has it, and the next run
// need not relocate it again.
func (r *run) calm() error {
	if r.live == nil || r.published != nil {
		return nil
	}
	var ids []uint32
	for id, s := range r.table.Settled().All() {
		if s.Dirty() || s.Moved() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := r.amend(ids, func(rec *store.Resource) {
		rec.Changed, rec.Moved = min(rec.Changed, r.live.Number), min(rec.Moved, r.live.Number)
	}); err != nil {
		return err
	}
	return r.site.Records.Fold(r.folding())
}

// Thresholds of judgeShapes.
const (
	shapeLeast = 3    // pages that must have taken the same shape
	shapeShare = 0.5  // of the pages of a known site
	shapeNew   = 20   // pages that a new site must have for a warning
	shapeFresh = 0.85 // of the pages of a new site

	shapeSpread = 20  // one page's size differs by at most a twentieth,
	shapeSlack  = 100 // and some bytes that say where the reader wanted to go
)

// judgeShapes looks for a login or error page that a site answers everywhere with status 200: many pages whose title and links
// became the same in this run. A first run only warns.
func (r *run) judgeShapes(j *judgement) error {
	if r.o.Accept {
		return nil
	}
	shapes := map[uint32]int{}
	pages := 0
	var example site.URL
	best := uint32(0)
	err := r.site.Records.Resources(func(rec *store.Resource) error {
		if !rec.InSet || rec.Shape == 0 {
			return nil
		}
		if r.live == nil || rec.Run == r.state.Number {
			pages++ // that the run looked at
		}
		if !r.newShape(rec) {
			return nil
		}
		shapes[rec.Shape]++
		if shapes[rec.Shape] > shapes[best] || best == 0 {
			best = rec.Shape
			example = rec.URL
		}
		return nil
	})
	if err != nil || best == 0 {
		return err
	}
	// Pages of one template may have the same title and links and be pages all the same: then their sizes differ.
	var ids []uint32
	var sizes []int64
	err = r.site.Records.Resources(func(rec *store.Resource) error {
		if rec.InSet && rec.Shape == best && r.newShape(rec) {
			ids, sizes = append(ids, rec.ID), append(sizes, rec.Size)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sorted := slices.Sorted(slices.Values(sizes))
	usual := sorted[len(sorted)/2]
	var doubtful []uint32
	for i, id := range ids {
		if alike(sizes[i], usual) {
			doubtful = append(doubtful, id)
		}
	}
	n := len(doubtful)
	if r.live == nil { // nothing can have become anything yet: it is said, and published
		if pages >= shapeNew && float64(n) >= shapeFresh*float64(pages) {
			r.notes.Cap(fmt.Sprintf("%d of %d pages have the same title, links and size, such as %s: look whether that is a login or error page", n, pages, example))
		}
		return nil
	}
	if n < shapeLeast || float64(n) < shapeShare*float64(pages) {
		return nil
	}
	j.suspicious("%d of %d pages have become the same page, such as %s: a login or error page?", n, pages, example)
	return r.forgetValidators(doubtful)
}

// alike reports whether a page of one shape has about the usual size, in bytes, of the pages of that shape.
func alike(size, usual int64) bool {
	d := size - usual
	return max(d, -d) <= usual/shapeSpread+shapeSlack
}

// forgetValidators makes the next run ask for pages that are taken for error pages without condition: their validators are not those of
// the pages that should be there, and a site that is well again could answer 304 to them.
func (r *run) forgetValidators(ids []uint32) error {
	return r.amend(ids, func(rec *store.Resource) { rec.ETag, rec.LastModified = "", "" })
}

// newShape reports whether a page got another shape since the published version.
func (r *run) newShape(rec *store.Resource) bool {
	return rec.ShapeNew && rec.Changed >= r.version && rec.Run == r.state.Number
}
