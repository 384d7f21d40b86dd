// SPDX-License-Identifier: Apache-2.0

package env

import (
	"log/slog"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/internal/regular"
	"mirrord/mirror/source"
	"mirrord/store/away"
	"mirrord/store/home"
)

// App is the environment in which requests are served. It has no state of its own and is not changed by the
// functions of this package, so that it may be used concurrently if Warn and Note may.
type App struct {
	State     func() (string, error) // returns the directory of the mirrors; required
	Jobs      string                 // directory of job files
	JobsNamed bool                   // the user named Jobs, so that it is an error when it is missing
	Activates string                 // socket at which systemd starts the daemon of State; may be ""
	Log       *slog.Logger           // required
	// root changes a state as the user who owns it, for the rest of the process
	AsOwner bool
	// environment variables, for secrets and proxies of jobs; required for runs
	LookupEnv func(string) (string, bool)
	Network   fetch.Network // connects to sites; nil is the system's network
	Hosts     *fetch.Hosts  // the politeness of all runs of this process; nil is that of each run alone
	Owner     home.Owner    // decides over sites beside the lock of the state; may be nil
	// fetches the data that check-outs have left in depots; nil without an environment, then nothing is fetched
	Away   func(*App) away.Bringer
	Robots fetch.RobotsStore // robots.txt that several machines share; may be nil
	Now    func() time.Time  // the clock of states and runs; nil is time.Now
	Warn   func(line string) // receives a line for each item that is left out; nil discards it
	Note   func(line string) // receives progress, each line replacing the one before; nil discards it
}

// Clock is the time by the app's clock.
func (a *App) Clock() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// Warning hands a line to Warn, if there is one.
func (a *App) Warning(line string) {
	if a.Warn != nil {
		a.Warn(line)
	}
}

// Progress hands a line to Note, if there is one.
func (a *App) Progress(line string) {
	if a.Note != nil {
		a.Note(line)
	}
}

// AtOnce calls f for each of a list, for so many at a time, and waits.
func AtOnce[T any](most int, list []T, f func(T)) {
	var all sync.WaitGroup
	room := make(chan struct{}, most)
	for _, x := range list {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			f(x)
		})
	}
	all.Wait()
}

// MovesAtOnce is how many sites come or go at a time.
const MovesAtOnce = 4

// Between two collections of what nothing refers to, and between two tries while runs are in the way.
const (
	TidyEvery    = 24 * time.Hour
	CollectRetry = time.Hour
)

// Politeness is that of a run to which its caller gives none.
func (a *App) Politeness() *fetch.Hosts {
	if a.Hosts != nil {
		return a.Hosts
	}
	return new(fetch.Hosts)
}

// World is what a job's client may read besides the network.
func (a *App) World(names fetch.Names) source.Surroundings {
	return source.Surroundings{
		LookupEnv: a.LookupEnv,
		ReadFile:  regular.ReadSmall,
		Names:     names,
		Network:   a.Network,
	}
}
