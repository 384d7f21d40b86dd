// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// neighbours are the other mirrors of the state.
type neighbours struct {
	r        *run
	names    map[string][]string // by origin
	open     map[string]*neighbour
	frames   *store.FrameReader
	compared int // pages, with their copies, by their text

	// What stays as it is, because some mirrors cannot be read now.
	unread    map[string]error // by name
	undecided map[string]bool  // URLs
	blind     map[string]bool  // origins
}

type neighbour struct {
	*store.Site
	name    string
	ended   time.Time
	since   int // number of the first of the runs that were looked at
	verdict string
	silent  map[string]bool // origins, and hosts, that did not answer in any run of late
}

func (r *run) newNeighbours() (*neighbours, error) {
	names, err := r.o.State.Sites()
	if err != nil {
		return nil, err
	}
	k := &neighbours{r: r, names: map[string][]string{}, open: map[string]*neighbour{}, unread: map[string]error{}, undecided: map[string]bool{}, blind: map[string]bool{}}
	for _, name := range names {
		if name == r.site.Name {
			continue
		}
		meta, err := PublishedMeta(r.o.State, name)
		if err != nil {
			continue // it has no version, or verify reports it
		}
		origins := map[string]bool{meta.Primary: true}
		for _, raw := range meta.Origins {
			if u, _, err := site.Parse(raw); err == nil {
				origins[u.Origin()] = true
			}
		}
		for o := range origins {
			k.names[o] = append(k.names[o], name)
		}
	}
	return k, nil
}

// PublishedMeta reads what the published version of a site says of itself: without its database, and without keeping a run from it. A site that has no version is
// store.ErrNoVersion.
func PublishedMeta(st *store.State, name string) (*phm.Meta, error) {
	root, err := os.OpenRoot(filepath.Join(st.Dir, "sites", name))
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer root.Close()
	tree, err := root.OpenRoot("current")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
	} else if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer tree.Close()
	return phm.OpenMeta(tree.FS())
}

// of names the mirrors that have the origin of a URL.
func (k *neighbours) of(u site.URL) []string { return k.names[u.Origin()] }

// get opens a mirror; nil is one of which nothing is known. An error is said again for each one who wants to know.
func (k *neighbours) get(name string) (*neighbour, error) {
	if err := k.unread[name]; err != nil {
		return nil, err
	}
	n, ok := k.open[name]
	if !ok {
		var err error
		if n, err = k.read(name); err != nil {
			k.unread[name] = err
			return nil, err
		}
		k.open[name] = n
	}
	return n, nil
}

func (k *neighbours) read(name string) (*neighbour, error) {
	runs, err := k.r.o.Facts.Runs(name, lookedRuns)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 || k.r.now().Sub(runs[0].Ended) > knownFor {
		return nil, nil
	}
	if runs[0].Verdict == Suspicious.String() {
		return nil, errors.New("its last run was suspicious")
	}
	silent, in := silentHosts(runs)
	since := 0
	var first Summary
	if json.Unmarshal(runs[len(runs)-1].Summary, &first) == nil {
		since = first.Run
	}
	if in == lookedRuns && silent == nil { // it runs often
		if runs, err = k.r.o.Facts.Runs(name, manyRuns); err != nil {
			return nil, err
		}
		silent, _ = silentHosts(runs)
	}
	s, err := k.r.o.State.ReadSite(name)
	if errors.Is(err, store.ErrNoSite) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &neighbour{Site: s, name: name, ended: runs[0].Ended, since: since, verdict: runs[0].Verdict, silent: silent}, nil
}

// leave says that nothing can be said of a URL.
func (k *neighbours) leave(u site.URL) {
	if len(k.undecided) >= mostCures {
		k.blind[u.Origin()] = true
		return
	}
	k.undecided[u.String()] = true
}

// close lets go of the mirrors. It does not change what was found.
func (k *neighbours) close() (err error) {
	for _, n := range k.open {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
	}
	clear(k.open)
	return err
}

// isSilent reports whether the origin of a URL did not answer in any run of late.
func (n *neighbour) isSilent(u site.URL) bool { return n.silent[u.Origin()] || n.silent[u.Hostname()] }

// silentHosts returns the origins and hosts that failed in all of the last runs, newest first, at least silentRuns of them over silentFor, which had no answer of the site; n is
// how many runs in a row had none.
func silentHosts(runs []store.RunRecord) (out map[string]bool, n int) {
	for ; n < len(runs); n++ {
		var sum Summary
		if json.Unmarshal(runs[n].Summary, &sum) != nil || len(sum.Down) == 0 || answers(&sum) > 0 {
			break
		}
		now := map[string]bool{}
		for _, host := range sum.Down {
			now[host] = n == 0 || out[host]
		}
		out = now
	}
	if n < silentRuns || runs[0].Started.Sub(runs[n-1].Started) < silentFor {
		return nil, n
	}
	return out, n
}

// answers counts what the site itself answered in a run.
func answers(s *Summary) int64 {
	n := s.Fetched + s.Unchanged + s.Redirected + s.Gone - s.Spared["listing"] - s.Spared["sitemap"] - s.Spared["expiry"] - s.Reused
	for _, by := range s.Alternates {
		n -= by
	}
	return n
}
