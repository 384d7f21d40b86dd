// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"hash/maphash"
	"slices"
	"time"

	"mirrord/site"
	"mirrord/store/record"
)

// factsEvery is how long to wait before the database is tried again.
const factsEvery = 10 * time.Second

// facts are what the database knows of a version beyond its tree.
type facts struct {
	known     bool
	tried     time.Time
	redirects map[site.URL]redirection
	charsets  map[uint64]uint8 // hash of a URL to the index of a name; only of files whose header named one
	names     []string
	kept      []Version // without the current one, oldest first
}

// due reports whether it is time to try again.
func (f *facts) due(st *storeSite) bool { return !f.known && st.s.now().Sub(f.tried) >= factsEvery }

type redirection struct {
	status int
	to     site.URL
	part   string // fragment of to, "" for none
}

// facts reads them; st.build is held. While they cannot be read the site is served without them.
func (st *storeSite) facts(t *openTree) *facts {
	f := &facts{tried: st.s.now(), known: true}
	var all []Version
	err := st.records(f, t)
	if err == nil && st.s.kept != nil {
		all, err = st.s.kept.Versions(st.name)
	}
	if err != nil {
		return &facts{tried: f.tried}
	}
	for _, v := range all {
		// after a rollback the newer ones are not yet there
		if v.Number != t.meta.Version && v.Time.Before(t.meta.Retrieved) {
			f.kept = append(f.kept, v)
		}
	}
	return f
}

// errPublishing says that the records are not yet those of the published tree.
var errPublishing = errors.New("the version is being published")

// records reads the redirects and charsets, if the records are those of the version that t is.
func (st *storeSite) records(f *facts, t *openTree) (err error) {
	db, err := st.s.state.ViewSite(st.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	last, err := db.Versions.Last()
	if err != nil {
		return err
	}
	switch {
	case last.Number == 0, last.Number == t.meta.Version:
	case last.Number < t.meta.Version:
		return errPublishing
	default:
		return nil // rolled back: the records are those of a newer version
	}
	f.redirects, f.charsets = map[site.URL]redirection{}, map[uint64]uint8{}
	targets := map[uint32]site.URL{}
	err = db.Records.Resources(func(r *record.Resource) error {
		if r.Target > 0 && r.Path == "" {
			targets[r.Target-1] = site.URL{}
		} else if r.InSet && r.Charset != "" {
			f.setCharset(maphash.String(t.seed, r.URL.String()), r.Charset)
		}
		return nil
	})
	if err != nil || len(targets) == 0 {
		return err
	}
	err = db.Records.Resources(func(r *record.Resource) error {
		if _, ok := targets[r.ID]; ok {
			targets[r.ID] = r.URL
		}
		return nil
	})
	if err != nil {
		return err
	}
	return db.Records.Resources(func(r *record.Resource) error {
		if r.Target > 0 && r.Path == "" && !targets[r.Target-1].IsZero() {
			f.redirects[r.URL] = redirection{r.Status, targets[r.Target-1], r.Fragment}
		}
		return nil
	})
}

func (f *facts) setCharset(sum uint64, name string) {
	i := slices.Index(f.names, name)
	if i < 0 && len(f.names) < 256 { // the origin may name as many as it likes
		i = len(f.names)
		f.names = append(f.names, name)
	}
	if i >= 0 {
		f.charsets[sum] = uint8(i)
	}
}
