package mirror

import (
	"fmt"

	"mirrord/site"
	"mirrord/store"
)

// load fills the table from what is stored.
func (r *run) load() error {
	n, err := r.site.Known()
	if err != nil {
		return err
	}
	t := r.table
	t.reserve(n)
	put := func(rec *store.Resource) error {
		if rec.ID >= n || rec.Target > n || rec.Referrer > n {
			return fmt.Errorf("record of %s: %w: it names a number that no URL has", rec.URL, store.ErrDamaged)
		}
		e := t.at(rec.ID)
		if e.urlLen == 0 {
			t.set(rec.ID, []byte(rec.URL.String()))
		}
		e.outcome, e.depth, e.ref, e.target = rec.Outcome, uint16(min(rec.Depth, 1<<16-1)), rec.Referrer, rec.Target
		was := e.flags&fInSet != 0
		if rec.InSet && !was {
			r.hold(nil, rec)
		} else if was && !rec.InSet {
			r.hold(rec, nil)
		}
		if e.flags&fKnown == 0 { // no earlier record of this run has said it
			was = rec.InSet != (rec.Moved >= r.version)
		}
		e.flags, e.pathLen, e.rate = fKnown, 0, rateOf(rec)
		if rec.InSet {
			e.flags |= fInSet
		}
		if rec.Requis {
			e.flags |= fRequis
		}
		if rec.Changed >= r.version {
			e.flags |= fDirty
		}
		if rec.Moved >= r.version {
			e.flags |= fMoved
		}
		e.mime = t.mime(rec.MIME)
		r.loadEvidence(rec)
		r.noteSource(rec)
		if rec.Outcome == site.Failed && rec.Failures >= lastingFailures {
			r.broken[rec.ID] = true
		}
		if wasSitemap(rec) {
			r.maps[rec.ID] = true
		}
		if rec.Run == r.state.Number && rec.Outcome != site.Pending && rec.Outcome != site.Failed {
			e.flags |= fQueued | fAnswered
			e.seen = seenOf(rec, was)
			r.noteShape(rec)
		}
		if rec.Path != "" {
			t.setPath(rec.ID, rec.Path)
		}
		return nil
	}
	if err := r.site.Resources(put); err != nil {
		return err
	}
	err = r.site.Replay(func(id uint32, u store.NewURL) error {
		if id >= n || u.Referrer > n {
			return fmt.Errorf("journal: %s: %w: it names a number that no URL has", u.URL, store.ErrDamaged)
		}
		t.set(id, []byte(u.URL))
		e := t.at(id)
		e.ref, e.depth = u.Referrer, uint16(u.Depth)
		if u.Requis {
			e.flags |= fRequis
		}
		return nil
	}, func(rec *store.Resource, _ []byte, _ bool) error { return put(rec) })
	if err == nil {
		r.recall()
	}
	return err
}

// recall takes what was found earlier into account that no record says: how many URLs of each shape there are, so that a trap does not
// go on with every run, and which of the URLs that an interrupted run has yet to ask are sitemaps.
func (r *run) recall() {
	t := r.table
	seeds := map[site.URL]bool{}
	for _, u := range r.seeds {
		seeds[u] = true
	}
	for id := uint32(0); id < t.n; id++ {
		e := t.at(id)
		if e.urlLen == 0 {
			continue
		}
		u := t.urlOf(id)
		r.counter.Add(u)
		if r.resumed && e.outcome == site.Pending && e.ref == 0 && !seeds[u] { // no document named it
			r.maps[id] = true
		}
	}
}
