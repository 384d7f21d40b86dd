// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"encoding/json"
	"errors"
	"time"

	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/home"
)

// neighbours are the other mirrors of the state.
type neighbours struct {
	Search
	names    map[string][]string // by origin
	open     map[string]*neighbour
	frames   *bodies.FrameReader
	compared int // pages that were compared with their copies by text

	// What stays as it is, because some mirrors cannot be read now.
	unread    map[string]error // by name
	undecided map[string]bool  // URLs
	blind     map[string]bool  // origins
}

// neighbour is one of them.
type neighbour struct {
	*store.Site
	name    string
	ended   time.Time
	since   int // number of the first run that was looked at
	verdict string
	silent  map[string]bool // origins and hosts without an answer of late
}

// neighbours lists the other mirrors, by origin. It opens none.
func (s Search) neighbours() (*neighbours, error) {
	names, err := s.Sites.Sites()
	if err != nil {
		return nil, err
	}
	k := &neighbours{
		Search:    s,
		names:     map[string][]string{},
		open:      map[string]*neighbour{},
		unread:    map[string]error{},
		undecided: map[string]bool{},
		blind:     map[string]bool{},
	}
	for _, name := range names {
		if name == s.Self {
			continue
		}
		meta, err := s.Meta(name)
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

// of names the mirrors that have the origin of a URL.
func (k *neighbours) of(u site.URL) []string { return k.names[u.Origin()] }

// get opens a mirror; nil is one of which nothing is known. An error is returned again by every later call.
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

// read opens a mirror, and reads what its last runs came to.
func (k *neighbours) read(name string) (*neighbour, error) {
	runs, err := k.Facts.Runs(name, lookedRuns)
	if err != nil {
		return nil, err
	}
	if (len(runs) == 0) || (k.Now.Sub(runs[0].Ended) > knownFor) {
		return nil, nil
	}
	if runs[0].Verdict == result.Suspicious.String() {
		return nil, errors.New("its last run is held for review")
	}
	silent, in := silentHosts(runs)
	since := 0
	var first result.Summary
	if json.Unmarshal(runs[len(runs)-1].Summary, &first) == nil {
		since = first.Run
	}
	if (in == lookedRuns) && (silent == nil) { // it runs often
		if runs, err = k.Facts.Runs(name, manyRuns); err != nil {
			return nil, err
		}
		silent, _ = silentHosts(runs)
	}
	s, err := k.Sites.ViewSite(name)
	if errors.Is(err, home.ErrNoSite) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return &neighbour{
		Site:    s,
		name:    name,
		ended:   runs[0].Ended,
		since:   since,
		verdict: runs[0].Verdict,
		silent:  silent,
	}, nil
}

// undecide drops the decision on a URL.
func (k *neighbours) undecide(u site.URL) {
	if len(k.undecided) >= mostCures {
		k.blind[u.Origin()] = true
		return
	}
	k.undecided[u.String()] = true
}

// close closes the mirrors. It does not change what was found.
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
