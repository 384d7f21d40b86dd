// SPDX-License-Identifier: Apache-2.0

// Package control is how commands talk to a daemon: HTTP and JSON over a Unix socket.
//
//	GET  /v1/status               status.All
//	GET  /v1/jobs/NAME            status.Job, with the report of its last run
//	GET  /v1/jobs/NAME/runs?n=N   the last N runs, newest first: status.Run
//	POST /v1/jobs/NAME/run        RunRequest; answers with Events, one JSON object a line, until the run has
//	                              ended, or with the first one only when Wait is false
//	POST /v1/jobs/NAME/cancel     ends the run as partial
//	POST /v1/jobs/NAME/pause      ends the run and starts no other
//	POST /v1/jobs/NAME/resume     takes that back
//	POST /v1/jobs/NAME/notify     tells everybody whom the job names that this is a test; answers with Told
//	POST /v1/reload               reads the jobs directory again; answers with Reloaded
//	POST /v1/console              OpenRequest; makes a link that logs in to the console, an OpenLink
//	GET  /metrics                 Prometheus text format
//	GET  /healthz  /readyz        200 or 503, with a word
//	GET  /debug/pprof/            what the program does; on the socket only
//
// The first path element is the version of the API: fields may be added to it, everything else makes a new
// one. An error is an Error with an HTTP status of 400 and above.
//
// Who may connect is a matter of the socket's file mode: a user who can may do everything that is listed
// here.
// There is nothing that writes on the status page of package serve.
//
// A run belongs to the daemon: the client that requested it may disconnect.
package control

import (
	"errors"
	"time"

	"mirrord/scheduler/status"
)

// RunRequest asks for a run.
type RunRequest struct {
	Accept bool     `json:"accept,omitempty"` // publish what a run held back, and make its gaps known
	Keep   bool     `json:"keep,omitempty"`   // with accept: keep what the site no longer has
	Set    []string `json:"set,omitempty"`    // KEY=VALUE, for this run only
	// request every known URL, also those that evidence and policy would skip
	Full bool `json:"full,omitempty"`
	// request only these URLs, or references from the entry point, beside what a run needs
	Only []string `json:"only,omitempty"`
	Now  bool     `json:"now,omitempty"` // do not wait for the job's window
	Wait bool     `json:"wait"`          // send events until the run has ended
}

// Event is one line of the answer to a RunRequest. The first has Attached, and without Wait also Job; the
// last has Run or Error.
type Event struct {
	Attached *bool       `json:"attached,omitempty"` // the run was under way, or requested, already
	Job      *status.Job `json:"job,omitempty"`      // where it stands
	Run      *status.Run `json:"run,omitempty"`      // how it ended
	Error    *Error      `json:"error,omitempty"`    // why there was none
}

// Reloaded is the answer to a reload.
type Reloaded struct {
	Jobs    int             `json:"jobs"` // that are in force
	Changes []status.Change `json:"changes"`
	Refused []status.Change `json:"refused,omitempty"` // all files that are refused now, since whenever
}

// Told says how one message was delivered.
type Told struct {
	To    string `json:"to"` // without secrets
	Error string `json:"error,omitempty"`
}

// OpenRequest asks for a link that logs in to the console.
type OpenRequest struct {
	Role string `json:"role,omitempty"` // read, order or operate, which is the default
}

// OpenLink logs in to the console, once.
type OpenLink struct {
	URL     string    `json:"url"`
	User    string    `json:"user"` // as whom
	Role    string    `json:"role"`
	Expires time.Time `json:"expires"` // when the link ends; the session lasts longer
}

// Error is what went wrong.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"error"` // the problem, and what to do
}

func (e *Error) Error() string { return e.Message }

// Is lets errors.Is find the sentinel of the code.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case NotFound:
		return target == ErrNotFound
	case Conflict:
		return target == ErrConflict
	case Invalid:
		return target == ErrInvalid
	}
	return false
}

// Code is the kind of an error.
type Code string

// The codes.
const (
	NotFound Code = "not_found" // no such job
	Conflict Code = "conflict"  // the state of the job does not allow it
	Invalid  Code = "invalid"   // the request makes no sense, or the job file does not
	WrongWay Code = "method"    // the address takes other methods
	Internal Code = "internal"
)

// Sentinels that an API wraps so that the right code is sent, and that a Client's errors match.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("conflict")
	ErrInvalid  = errors.New("invalid request")
)

// WithCode returns an error with the text of err that matches a sentinel too.
func WithCode(err, sentinel error) error { return coded{err, sentinel} }

type coded struct {
	error
	sentinel error
}

func (e coded) Unwrap() []error { return []error{e.error, e.sentinel} }
