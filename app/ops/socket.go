// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"mirrord/scheduler/control"
)

// NewServer returns the handler of the control socket: all operations that it has. Every client that can
// connect may call each.
func NewServer(h Host, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	fail := func(w http.ResponseWriter, status int, e *control.Error) { send(w, log, status, e) }
	for _, o := range Table() {
		if o.Lacks(Socket) != "" || (o.Name == "login" && h.Open == nil) {
			continue
		}
		mux.HandleFunc(o.Call, func(w http.ResponseWriter, r *http.Request) {
			a := Act{Host: h, Job: r.PathValue("job"), Who: control.PeerName(r.Context())}
			if err := o.Answer(w, r, a, log); err != nil {
				code := CodeOf(err)
				fail(w, StatusOf(code), &control.Error{Code: code, Message: err.Error()})
			}
		})
	}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if e, wrong := errors.AsType[*control.MethodError](control.WrongMethod(mux, r)); wrong {
			w.Header().Set("Allow", e.Allow)
			fail(w, http.StatusMethodNotAllowed, &control.Error{Code: control.WrongWay, Message: e.Error()})
			return
		}
		message := "no such call: " + r.Method + " " + r.URL.Path
		fail(w, http.StatusNotFound, &control.Error{Code: control.NotFound, Message: message})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		const message = "this daemon speaks version 1: /v1/"
		fail(w, http.StatusNotFound, &control.Error{Code: control.NotFound, Message: message})
	})
	control.Observe(mux, h.Daemon)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
