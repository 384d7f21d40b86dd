// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"time"

	"mirrord/internal/volatile"
	"mirrord/mirror/run"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// rejectionFacts are compared with the version that a rollback rejected. The records are those that would be
// published.
func rejectionFacts(s *run.Session) (f verdict.RejectionFacts, err error) {
	list, err := rollbacksOf(s)
	if err != nil {
		return f, err
	}
	if f.Rollback = verdict.HoldsAt(list, s.Live); f.Rollback == nil {
		return f, nil
	}
	if f.Live, err = contentsOf(s.Site, s.Live.Number); err != nil {
		return f, err
	}
	f.Now = make([]verdict.ContentSum, len(f.Live))
	f.Alike = alike(s)
	return f, s.Site.Records.Resources(func(r *record.Resource) error {
		setContent(f.Now, r)
		return nil
	})
}

// leaveRestored takes out of what a run found changed, against a version that a rollback restored, what
// equals the state before the rollback: the site did not change that.
func leaveRestored(s *run.Session, o *record.Observation) error {
	if len(o.Changed) == 0 || s.Live == nil || s.Live.Restores == 0 {
		return nil
	}
	list, err := rollbacksOf(s)
	b := verdict.HoldsAt(list, s.Live)
	if err != nil || b == nil || len(b.Rejected) == 0 {
		return err
	}
	before := b.Rejected[len(b.Rejected)-1].Contents
	var changed record.IDs
	t := s.Table.Settled()
	for id := range o.Changed.All() {
		rec, ok, err := s.Site.Records.Get(t.URL(id))
		if err != nil {
			return err
		}
		if was := before[id]; !ok || was == 0 || verdict.ContentOf(&rec) != was {
			changed.Add(id)
		}
	}
	o.Changed = changed
	return nil
}

// rollbacksOf reads the rollbacks of a site. A list that cannot be decoded is an empty one.
func rollbacksOf(s *run.Session) ([]verdict.Rollback, error) {
	v, err := s.Site.Notes.Fact(verdict.RejectedFact)
	if err != nil {
		return nil, err
	}
	list, err := verdict.DecodeRollbacks(v)
	if err != nil {
		s.Log.Warn("the list of rejected versions cannot be decoded; starting with an empty one", "err", err)
	}
	return list, nil
}

// contentsOf returns the content of a version by number of URL.
func contentsOf(s *store.Site, version int) (all []verdict.ContentSum, err error) {
	past, err := s.Versions.Past(version)
	if err != nil {
		return nil, err
	}
	known, err := s.Records.Known()
	if err != nil {
		return nil, err
	}
	all = make([]verdict.ContentSum, known)
	err = past.Resources(func(r *record.Resource, here bool) error {
		if here {
			setContent(all, r)
		}
		return nil
	})
	return all, err
}

func setContent(all []verdict.ContentSum, r *record.Resource) {
	if r.ID < uint32(len(all)) {
		all[r.ID] = verdict.ContentOf(r)
	}
}

// alike compares documents as they are now with what they were in a version. It is false where either cannot
// be read, such as in a version that was dropped.
func alike(s *run.Session) func(id uint32, version int) bool {
	pasts := map[int]*facts.Past{}
	frames := bodies.NewFrameReader()
	t := s.Table.Settled()
	body := func(r *record.Resource) []byte {
		if !r.InSet || r.Body != record.PackBody || r.Size > volatile.MaxBody {
			return nil
		}
		fr, err := s.Site.Frames.ReadFrame(frames, r.At)
		if err != nil {
			return nil
		}
		return append(make([]byte, 0, len(fr.Body)), fr.Body...) // the next call overwrites it
	}
	get := func(u site.URL, version int) (was, now record.Resource, ok bool) {
		p := pasts[version]
		if p == nil {
			var err error
			if p, err = s.Site.Versions.Past(version); err != nil {
				return was, now, false
			}
			pasts[version] = p
		}
		was, ok, err := p.Get(u)
		if !ok || err != nil {
			return was, now, false
		}
		now, ok, err = s.Site.Records.Get(u)
		return was, now, ok && err == nil
	}
	return func(id uint32, version int) bool {
		if id >= t.Len() {
			return false
		}
		was, now, ok := get(t.URL(id), version)
		if !ok || was.MIME != now.MIME || was.Charset != now.Charset || was.Listing || now.Listing {
			return false
		}
		before, after := body(&was), body(&now)
		if before == nil || after == nil {
			return false
		}
		_, ok = volatile.Compare(before, after, volatile.Times{
			Old: time.Unix(was.Fetched, 0),
			New: time.Unix(now.Fetched, 0),
		})
		return ok
	}
}

// forgetRejected forgets what rollbacks rejected, unless that still counts for the published version.
func forgetRejected(s *run.Session, live *record.Version) error {
	list, err := rollbacksOf(s)
	if (err != nil) || (len(list) == 0) || (verdict.HoldsAt(list, live) != nil) {
		return err
	}
	return s.Site.Notes.SetFact(verdict.RejectedFact, nil)
}
