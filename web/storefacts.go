package web

import (
	"hash/maphash"
	"slices"
	"time"

	"mirrord/site"
	"mirrord/store"
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
}

// due reports whether it is time to try again.
func (f *facts) due(now time.Time) bool { return !f.known && now.Sub(f.tried) >= factsEvery }

type redirection struct {
	status int
	to     site.URL
}

// facts reads them. While a run has the site nothing is known of them, and the site is served without.
func (st *storeSite) facts(t *openTree) *facts {
	f := &facts{tried: st.s.now()}
	db, err := st.s.state.ReadSite(st.name)
	if err != nil {
		return f
	}
	defer db.Close()
	if vs, err := db.Versions(); err != nil || len(vs) > 0 && vs[len(vs)-1].Number != t.meta.Version {
		return f
	}
	f.redirects, f.charsets = map[site.URL]redirection{}, map[uint64]uint8{}
	targets := map[uint32]site.URL{}
	err = db.Resources(func(r *store.Resource) error {
		if r.Target > 0 && r.Path == "" {
			targets[r.Target-1] = site.URL{}
		} else if r.InSet && r.Charset != "" {
			i := slices.Index(f.names, r.Charset)
			if i < 0 && len(f.names) < 256 {
				i = len(f.names)
				f.names = append(f.names, r.Charset)
			}
			if i >= 0 {
				f.charsets[maphash.String(t.index.seed, r.URL.String())] = uint8(i)
			}
		}
		return nil
	})
	if err == nil && len(targets) > 0 {
		err = db.Resources(func(r *store.Resource) error {
			if _, ok := targets[r.ID]; ok {
				targets[r.ID] = r.URL
			}
			return nil
		})
	}
	if err == nil && len(targets) > 0 {
		err = db.Resources(func(r *store.Resource) error {
			if r.Target > 0 && r.Path == "" && !targets[r.Target-1].IsZero() {
				f.redirects[r.URL] = redirection{r.Status, targets[r.Target-1]}
			}
			return nil
		})
	}
	f.known = err == nil
	return f
}
