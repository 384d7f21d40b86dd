// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"mirrord/internal/count"
	"mirrord/mirror/run"
	"mirrord/store"
)

// SizesFact is the name of the site's fact that has its store.Sizes.
const SizesFact = "sizes"

// keptVersions is how many of the newest versions never yield: the published one, and one to go back to.
const keptVersions = 2

// Yield frees space for a run when the site takes more than it may: old versions go, the oldest first. When
// that does not suffice, the session says why nothing more may be stored.
func Yield(ctx context.Context, s *run.Session) error {
	most, limit := s.MostState()
	if most <= 0 || s.Options.NoFetch {
		return nil
	}
	size, err := measure(s.Site)
	if err != nil {
		return err
	}
	dropped := 0
	for some := 1; size.Total() > most; some *= 2 {
		n, err := dropOldest(ctx, s.Site, some)
		if err != nil {
			return err
		}
		if n == 0 {
			s.Full = run.StateFull(limit)
			break
		}
		dropped += n
		if size, err = measure(s.Site); err != nil {
			return err
		}
	}
	if dropped > 0 {
		const what = "%s dropped, because the mirror took more than %s"
		s.Notes.Cap(fmt.Sprintf(what, count.Of(dropped, "old version was", "old versions were"), limit))
	}
	s.Taken = size.Total()
	return nil
}

// dropOldest drops so many of the oldest versions and frees their space. It returns how many there were.
func dropOldest(ctx context.Context, s *store.Site, some int) (n int, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return 0, err
	}
	for n < some && n < len(vs)-keptVersions {
		if err := s.Versions.Drop(vs[n].Number); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	_, err = s.Purge(ctx, func(string) bool { return false })
	return n, err
}

// measure finds out what the site takes and keeps it as a fact.
func measure(s *store.Site) (store.Sizes, error) {
	z, err := store.Measure(s)
	if err != nil {
		return z, err
	}
	v, err := json.Marshal(&z)
	if err != nil {
		return z, err
	}
	return z, s.Notes.SetLastingFact(SizesFact, v)
}

// SizesOf returns what was measured last of a site, nil when it never was.
func SizesOf(st *store.State, site string) (*store.Sizes, error) {
	v, err := st.LastingFact(site, SizesFact)
	if err != nil || v == nil {
		return nil, err
	}
	z := new(store.Sizes)
	return z, json.Unmarshal(v, z)
}

// measuredEvery is how old a measurement may be when a run publishes.
const measuredEvery = time.Hour

// Measure keeps what the site takes after a run that changed it, now and then. What goes wrong is logged.
func Measure(s *run.Session, published bool) {
	if s.Site.Volatile || s.Options.State == nil {
		return
	}
	z, err := SizesOf(s.Options.State, s.Site.Name)
	if err != nil {
		s.Log.Warn("what the mirror takes on the disk cannot be read and is measured again", "err", err)
		z = nil
	}
	old := (z == nil) || (z.Trees == 0) || (s.Now().Sub(z.At) >= measuredEvery) // 0: there was no version
	if (z == nil) || (published && old) {
		_, err = measure(s.Site)
	}
	if err != nil {
		s.Log.Warn("what the mirror takes on the disk is not known", "err", err)
	}
}
