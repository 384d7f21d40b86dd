// SPDX-License-Identifier: Apache-2.0

package depots

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/store/away"
)

// DepotEnv is the variable with the address of the depot.
const DepotEnv = "MIRRORD_DEPOT"

// left fetches the data that check-outs have left in depots, for a state: an away.Bringer. It opens a depot
// when something of it is first read, at the address of the environment, or else where it was.
type left struct {
	app *env.App

	mu     sync.Mutex
	depots map[string]away.Bringer // by cluster
	failed error                   // the last error, for a moment: many reads do not wait one after the other
	until  time.Time
}

// notAsked is how long a depot that does not answer is not asked again.
const notAsked = 5 * time.Second

// LeftBehind is the Away of an App: it fetches data left in depots; nil without an environment to find keys
// in.
func LeftBehind(a *env.App) away.Bringer {
	if a.LookupEnv == nil {
		return nil
	}
	return &left{app: a, depots: map[string]away.Bringer{}}
}

// depotOf opens the depot that something was left in.
func (l *left) depotOf(from *away.Remainder) (away.Bringer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.depots[from.Cluster]; f != nil {
		return f, nil
	}
	if l.failed != nil && time.Now().Before(l.until) {
		return nil, l.failed
	}
	env, _ := l.app.LookupEnv(DepotEnv)
	err := errors.New("no address of it is known")
	for _, address := range []string{env, from.Depot} {
		if address == "" {
			continue
		}
		ctx := context.Background()
		d, oerr := ReadDepot(ctx, l.app, address, false)
		if oerr == nil && d.Cluster == from.Cluster {
			l.depots[from.Cluster] = d.Fetcher(ctx)
			return l.depots[from.Cluster], nil
		}
		if err = oerr; oerr == nil {
			err = errors.New(address + " is another depot")
		}
	}
	l.failed, l.until = err, time.Now().Add(notAsked)
	return nil, err
}

// FetchParts implements away.Bringer.
func (l *left) FetchParts(
	from *away.Remainder, parts []away.Part, use func(*away.Part, []byte) error,
) error {
	f, err := l.depotOf(from)
	if err != nil {
		return err
	}
	return l.heard(from, f.FetchParts(from, parts, use))
}

// FetchBody implements away.Bringer.
func (l *left) FetchBody(from *away.Remainder, b *away.Body) (io.ReadCloser, error) {
	f, err := l.depotOf(from)
	if err != nil {
		return nil, err
	}
	body, err := f.FetchBody(from, b)
	return body, l.heard(from, err)
}

// heard notes whether a depot has answered. One that has not is opened again.
func (l *left) heard(from *away.Remainder, err error) error {
	if err == nil || errors.Is(err, depot.ErrLost) || errors.Is(err, depot.ErrDamaged) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.depots, from.Cluster)
	l.failed, l.until = err, time.Now().Add(notAsked)
	return err
}
