// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

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
	// Alive reports whether the daemon does its work, as far as it can tell.
	Alive() error
}

// Registrar is an API that knows which mirrors and equivalents there are; its answer is sent as JSON.
type Registrar interface {
	Registry() (any, error)
	// Register tests a place that is said to have what the mirror of a job has, and keeps it when that is so.
	Register(ctx context.Context, job, at string) (any, error)
}

// Gatherer is an API that brings to this machine what the other nodes of its cluster know of the pages of
// their mirrors.
type Gatherer interface {
	Gather(ctx context.Context) error
}

// Owning is an API that answers for other daemons too.
type Owning interface {
	Own() API // what concerns this one: metrics, health
}

// RegisterRequest names a place.
type RegisterRequest struct {
	At string `json:"at"` // URL of a directory
}

// Opener is an API that lets people into the console, a server of its own.
type Opener interface {
	// OpenConsole makes a link that logs in once; who is the user at the other end of the socket. It opens the
	// console if it is not open yet.
	OpenConsole(who string, r OpenRequest) (OpenLink, error)
}

// Running is a run that was requested.
type Running interface {
	Done() <-chan struct{}               // closed when it has ended, or will not come
	Result() (run status.Run, err error) // only after that
}

// most is how many bytes a request may have.
const most = 64 << 10

// every is how often a client hears where a run stands.
const every = 250 * time.Millisecond

// Server is the http.Handler of the socket.
type Server struct {
	api API
	log *slog.Logger
	mux *http.ServeMux
}

// NewServer returns the handler for an API.
func NewServer(api API, log *slog.Logger) *Server {
	s := &Server{api: api, log: log, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		s.send(w, http.StatusOK, api.Status())
	})
	s.mux.HandleFunc("GET /v1/jobs/{name}", func(w http.ResponseWriter, r *http.Request) {
		j, err := api.Job(r.PathValue("name"))
		s.answer(w, j, err)
	})
	s.mux.HandleFunc("GET /v1/jobs/{name}/runs", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("n"), "20"))
		if err != nil || n < 1 || n > 1000 {
			s.fail(w, http.StatusBadRequest, &Error{Invalid, "runs: n is a number from 1 to 1000"})
			return
		}
		runs, err := api.Runs(r.PathValue("name"), n)
		s.answer(w, runs, err)
	})
	if r, ok := api.(Registrar); ok {
		s.mux.HandleFunc("GET /v1/registry", func(w http.ResponseWriter, _ *http.Request) {
			v, err := r.Registry()
			s.answer(w, v, err)
		})
		s.mux.HandleFunc("POST /v1/jobs/{name}/equivalents", func(w http.ResponseWriter, req *http.Request) {
			var what RegisterRequest
			if !s.read(w, req, "equivalents", &what) {
				return
			}
			v, err := r.Register(req.Context(), req.PathValue("name"), what.At)
			s.answer(w, v, err)
		})
	}
	if g, ok := api.(Gatherer); ok {
		s.mux.HandleFunc("POST /v1/replicas", func(w http.ResponseWriter, r *http.Request) {
			s.answer(w, struct{}{}, g.Gather(r.Context()))
		})
	}
	if o, ok := api.(Opener); ok {
		s.mux.HandleFunc("POST /v1/console", func(w http.ResponseWriter, r *http.Request) { s.open(w, r, o) })
	}
	s.mux.HandleFunc("POST /v1/jobs/{name}/run", s.run)
	for what, do := range map[string]func(string) error{
		"cancel": api.Cancel,
		"pause":  api.Pause,
		"resume": api.Resume,
	} {
		s.mux.HandleFunc("POST /v1/jobs/{name}/"+what, func(w http.ResponseWriter, r *http.Request) {
			name := r.PathValue("name")
			err := do(name)
			var j status.Job
			if err == nil {
				s.log.Info("asked for", "what", what, "job", name)
				j, err = api.Job(name)
			}
			s.answer(w, j, err)
		})
	}
	s.mux.HandleFunc("POST /v1/jobs/{name}/notify", func(w http.ResponseWriter, r *http.Request) {
		told, err := api.NotifyTest(r.Context(), r.PathValue("name"))
		s.answer(w, told, err)
	})
	s.mux.HandleFunc("POST /v1/reload", func(w http.ResponseWriter, _ *http.Request) {
		re, err := api.Reload()
		s.answer(w, re, err)
	})
	s.mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if e, wrong := errors.AsType[*MethodError](WrongMethod(s.mux, r)); wrong {
			w.Header().Set("Allow", e.Allow)
			s.fail(w, http.StatusMethodNotAllowed, &Error{WrongWay, e.Error()})
			return
		}
		s.fail(w, http.StatusNotFound, &Error{NotFound, "no such call: " + r.Method + " " + r.URL.Path})
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, http.StatusNotFound, &Error{NotFound, "this daemon speaks version 1: /v1/"})
	})
	Observe(s.mux, api)
	s.mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	s.mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	s.mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, most)
	s.mux.ServeHTTP(w, r)
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

// read decodes the body of a request; nothing is an empty one. It answers when that fails.
func (s *Server) read(w http.ResponseWriter, r *http.Request, what string, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		s.fail(w, http.StatusBadRequest, &Error{Invalid, what + ": body: " + err.Error()})
		return false
	}
	return true
}

// open makes a link that logs in to the console.
func (s *Server) open(w http.ResponseWriter, r *http.Request, o Opener) {
	var req OpenRequest
	if !s.read(w, r, "console", &req) {
		return
	}
	who := peerName(r.Context())
	link, err := o.OpenConsole(who, req)
	if err == nil {
		s.log.Info("asked for", "what", "console", "user", who, "role", link.Role)
	}
	s.answer(w, link, err)
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	var req RunRequest
	if !s.read(w, r, "run", &req) {
		return
	}
	name := r.PathValue("name")
	run, attached, err := s.api.Run(name, req)
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	s.log.Info("asked for", "what", "run", "job", name, "attached", attached, "accept", req.Accept, "full",
		req.Full, "now", req.Now, "set", keysOf(req.Set))
	if !req.Wait {
		e := Event{Attached: &attached}
		select { // for a moment, so that the answer can say what it waits for
		case <-time.After(every / 2):
		case <-run.Done():
		case <-r.Context().Done():
		}
		if j, err := s.api.Progress(name); err == nil {
			e.Job = &j
		}
		s.send(w, http.StatusAccepted, e)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w)
	event := func(e Event) bool { return enc.Encode(e) == nil && flush.Flush() == nil }
	if !event(Event{Attached: &attached}) {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-r.Context().Done():
			return // the run goes on
		case <-run.Done():
			res, err := run.Result()
			if err != nil {
				event(Event{Error: errorOf(err)})
				return
			}
			event(Event{Run: &res})
			return
		case <-t.C:
			if j, err := s.api.Progress(name); err == nil && !event(Event{Job: &j}) {
				return
			}
		}
	}
}

// keysOf leaves out the values of KEY=VALUE: they may be secrets.
func keysOf(set []string) []string {
	var out []string
	for _, kv := range set {
		key, _, _ := strings.Cut(kv, "=")
		out = append(out, strings.TrimSpace(key))
	}
	return out
}

func (s *Server) answer(w http.ResponseWriter, v any, err error) {
	if err == nil {
		s.send(w, http.StatusOK, v)
		return
	}
	e := errorOf(err)
	s.fail(w, map[Code]int{
		NotFound: http.StatusNotFound,
		Conflict: http.StatusConflict,
		Invalid:  http.StatusBadRequest,
		Internal: http.StatusInternalServerError,
	}[e.Code], e)
}

func errorOf(err error) *Error {
	e := &Error{Code: Internal, Message: err.Error()}
	switch {
	case errors.Is(err, ErrNotFound):
		e.Code = NotFound
	case errors.Is(err, ErrConflict):
		e.Code = Conflict
	case errors.Is(err, ErrInvalid):
		e.Code = Invalid
	}
	return e
}

func (s *Server) fail(w http.ResponseWriter, code int, e *Error) { s.send(w, code, e) }

func (s *Server) send(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("answer not sent", "err", err)
	}
}
