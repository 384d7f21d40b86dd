// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"log/slog"
	"time"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/store"
)

// HostFacts is where a run looks for robots.txt before it asks a host.
func HostFacts(a *env.App, st *store.State) fetch.RobotsStore {
	if a.Robots == nil {
		return st.Shared
	}
	return sharedRobots{
		own: st.Shared,
		all: a.Robots,
		now: st.Now,
		log: a.Log,
	}
}

// sharedRobots are robots.txt of this machine and of all: what one has fetched the others do not ask for.
// Without the others, as long as they cannot be reached, each asks for itself.
type sharedRobots struct {
	own fetch.RobotsStore
	all fetch.RobotsStore
	now func() time.Time
	log *slog.Logger
}

// robotsFresh is how long robots.txt may be used (RFC 9309, 2.4). A younger copy here is not looked for
// elsewhere.
const robotsFresh = 24 * time.Hour

// LoadHost implements fetch.RobotsStore.
func (r sharedRobots) LoadHost(origin string) (robots.FileCopy, bool, error) {
	f, ok, err := r.own.LoadHost(origin)
	if err == nil && ok && r.now().Sub(f.Fetched) < robotsFresh {
		return f, true, nil
	}
	g, found, failed := r.all.LoadHost(origin)
	if failed != nil {
		r.log.Debug("robots.txt of other machines is not known", "host", origin, "err", failed)
	}
	if failed != nil || !found || (ok && !g.Fetched.After(f.Fetched)) {
		return f, ok, err
	}
	return g, true, r.own.SaveHost(origin, g)
}

// SaveHost implements fetch.RobotsStore.
func (r sharedRobots) SaveHost(origin string, f robots.FileCopy) error {
	if err := r.all.SaveHost(origin, f); err != nil {
		r.log.Debug("robots.txt is not known to other machines", "host", origin, "err", err)
	}
	return r.own.SaveHost(origin, f)
}
