// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"io"
	"net/http"

	"mirrord/scheduler/status"
)

// API is what a daemon does for those who connect. It is safe for concurrent use. Its errors wrap
// ErrNotFound, ErrConflict or ErrInvalid where one of them fits.
type API interface {
	Status() status.All
	Job(name string) (status.Job, error)
	Progress(name string) (status.Job, error)      // is cheap, and leaves out the report of the last run
	Runs(name string, n int) ([]status.Run, error) // the last n runs, newest first
	Run(name string, r RunRequest) (run Running, attached bool, err error)
	Cancel(name string) error
	Pause(name string) error
	Resume(name string) error
	NotifyTest(ctx context.Context, name string) ([]Told, error)
	Reload() (Reloaded, error)
	// Registry is which mirrors and equivalents there are; its answer is sent as JSON.
	Registry() (any, error)
	// Register tests a place that is said to have what the mirror of a job has, and keeps it when that is so.
	Register(ctx context.Context, job, at string) (any, error)
	// Gather copies to this machine what the other nodes of its cluster know about the pages of their mirrors.
	Gather(ctx context.Context) error
	// Alive reports whether the daemon does its work, as far as it can tell.
	Alive() error
}

// Owning is an API that answers for other daemons too.
type Owning interface {
	Own() API // what concerns this one: metrics, health
}

// Running is a run that was requested.
type Running interface {
	Done() <-chan struct{}               // closed when it has ended, or will not come
	Result() (run status.Run, err error) // only after that
}

// Observe adds what monitoring asks for: metrics, health and readiness. It changes nothing, and may be
// offered to anybody who may read the status page.
func Observe(mux *http.ServeMux, api API) {
	if e, ok := api.(Owning); ok {
		api = e.Own()
	}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		status.WriteMetrics(w, api.Status()) // an error: the client has disconnected
	})
	word := func(pattern string, check func() error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, err.Error()+"\n")
				return
			}
			io.WriteString(w, "ok\n")
		})
	}
	word("GET /healthz", api.Alive)
	word("GET /readyz", func() error {
		switch d := api.Status().Daemon; {
		case d.Ending:
			return errors.New("ending")
		case !d.Ready:
			return errors.New("starting")
		}
		return api.Alive()
	})
}
