// SPDX-License-Identifier: Apache-2.0

// Package app implements what mirrord does for its callers: the command line, the daemon's API, a web
// interface.
//
// A function takes an App, which is the environment, and a typed request. It opens the state and the sites
// that it needs, reads job files, calls the engine, and returns a typed result or an error whose kind the
// caller turns into an exit code or a status (see Error). The JSON form of results is part of the contract
// with scripts.
//
// The package knows no flags, terminal, standard streams or exit codes. What a user should read before the
// result is there goes to Warn and Note.
package app

import (
	"log/slog"
	"time"

	"mirrord/fetch"
	"mirrord/store"
)

// App is the environment in which requests are served. It has no state of its own and is not changed by the
// functions of this package, so that it may be used concurrently if Warn and Note may.
type App struct {
	State     func() (string, error) // returns the directory of the mirrors; required
	Jobs      string                 // directory of job files
	JobsNamed bool                   // the user named Jobs, so that it is an error when it is missing
	Activates string                 // socket at which systemd starts the daemon of State; "" is none
	Log       *slog.Logger           // required
	// root changes a state as the user who owns it, for the rest of the process
	AsOwner bool
	// environment variables, for secrets and proxies of jobs; required for runs
	LookupEnv func(string) (string, bool)
	Network   fetch.Network     // connects to sites; nil is the system's network
	Hosts     *fetch.Hosts      // the politeness of all runs of this process; nil is that of each run alone
	Owner     store.Owner       // decides over sites beside the lock of the state; nil is nobody
	// brings what check-outs have left in depots, nil where there is no environment; nil brings nothing
	Away func(*App) store.Bringer
	Robots    SharedRobots      // robots.txt that several machines share; nil is none
	Now       func() time.Time  // the clock of states and runs; nil is time.Now
	Warn      func(line string) // receives what is left out while the rest is done; nil discards it
	Note      func(line string) // receives progress, each line replacing the one before; nil discards it
}

// now is the time by the app's clock.
func (a *App) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

func (a *App) warn(line string) {
	if a.Warn != nil {
		a.Warn(line)
	}
}

func (a *App) note(line string) {
	if a.Note != nil {
		a.Note(line)
	}
}
