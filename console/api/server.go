// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/nodes"
	"mirrord/app/ops"
	"mirrord/app/orders"
	"mirrord/app/shares"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/store/shared"
)

// Facts keeps the audit log and the signed calls; both outlive the process. shared.ConsoleFacts
// has it. Its methods may be called from several goroutines.
type Facts interface {
	AddAudit(shared.AuditEntry) error
	ChangeHook(job string, change func(*shared.HookFact) (*shared.HookFact, error)) error
	Hooks() (map[string]shared.HookFact, error)
}

// Options are the choices of an API. All but Orders, Others and Log are required.
type Options struct {
	Daemon control.API // nodes.Remote has it
	App    *env.App
	Facts  Facts
	Acts   func(ctx context.Context, n int) (shares.Acts, error) // the newest n of the audit log
	Book   *access.Book
	Texts  TextFinder
	Orders *orders.Orders           // nil: orders are not possible
	Others nodes.OtherNodes         // the other nodes of a cluster; nil: there are none
	Save   func(jobs.JobEdit) error // puts a new text of a job file in its place
	Now    func() time.Time
	Log    *slog.Logger // default: discards all
}

// How often a client may call.
const (
	callEvery  = 100 * time.Millisecond // of one token, after callBurst
	callBurst  = 100
	wrongEvery = 3 * time.Second // wrong tokens and signatures of one address, after wrongBurst
	wrongBurst = 20
)

// most is how many bytes the body of a request may have: a job file as JSON.
const most = 1 << 20

// Server is the http.Handler of everything below /v1/.
type Server struct {
	Options
	mux   *http.ServeMux
	calls *access.Limit // by token
	wrong *access.Limit // by address
	hooks *hooks
}

// New makes an API. Hooks are taken, and start runs while Run runs.
func New(o Options) *Server {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{
		Options: o,
		mux:     http.NewServeMux(),
		calls:   access.NewLimit(callEvery, callBurst),
		wrong:   access.NewLimit(wrongEvery, wrongBurst),
		hooks:   newHooks(),
	}
	for _, o := range ops.Table() {
		if o.Lacks(ops.API) == "" {
			s.mux.HandleFunc(o.Call, s.guarded(o, handlerOf(o)))
		}
	}
	s.mux.HandleFunc("/", s.guarded(ops.Operation{}, noCall))
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, most)
	s.mux.ServeHTTP(w, r)
}

// call is a request whose caller may make it.
type call struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	who string
	as  access.Role
	job string // of the path; "" without one

	about  string // what it concerns besides a job, for the audit log
	passed bool   // another node has answered, and has written that down
}

// The codes of errors that the socket does not have.
const (
	unauthorized control.Code = "unauthorized" // no token, or a wrong one; or a wrong signature
	forbidden    control.Code = "forbidden"    // the role of the token does not allow it
	tooMany      control.Code = "too_many"     // calls in a short time
	tooLarge     control.Code = "too_large"    // the body of the request
	away         control.Code = "away"         // the node of a cluster that has it does not answer
	precondition control.Code = "precondition" // If-Match is missing, or the file was changed meanwhile
)

// Errors of requests.
var (
	errToken = errors.New("no valid token: send Authorization: Bearer TOKEN; mirrord console token add " +
		"makes one")
	errRole      = errors.New("the role of this token does not allow that")
	errTooMany   = errors.New("too many calls; wait a moment")
	errNoCall    = errors.New("no such call; /v1/openapi.yaml lists all")
	errNoMatch   = errors.New("send If-Match with the ETag of GET /v1/jobs/JOB/file, so that no change is lost")
	errUnsigned  = errors.New("not accepted: no key signs calls for this job, or no signature fits")
	errCallsHere = errors.New("too many signed calls for this job; wait a moment")
)

// guarded checks the token and its role before an operation.
func (s *Server) guarded(o ops.Operation, handle func(*call) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{
			Server: s,
			w:      w,
			r:      r,
			job:    r.PathValue("job"),
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		err := c.admit(o)
		if err == nil && o.Need > access.Anonymous {
			access.BodyTime(w, r, access.AfterLogin)
		}
		bad := (c.job != "" && !job.ValidName(c.job)) ||
			(s.Orders == nil && strings.Contains(o.Call, " /v1/orders")) ||
			(access.GuestOf(r) != nil && !access.Passable(o.Call))
		if err == nil && bad {
			err = errNoCall
		}
		if err == nil {
			err = handle(c)
		}
		if o.Act() != "" && c.who != "" && !c.passed {
			c.audit(o.Act(), c.about, err)
		}
		if err != nil {
			c.fail(err)
		}
	}
}

// admit finds out who calls, and whether he may.
func (c *call) admit(o ops.Operation) error {
	if o.Need == access.Anonymous {
		return nil
	}
	if g := access.GuestOf(c.r); g != nil { // who has a token, as the other node has found
		if c.who, c.as = g.Name, g.Role; c.as < o.Need {
			return errRole
		}
		return nil
	}
	t, known, err := c.token()
	switch {
	case err != nil:
		return err
	case !known:
		return c.wrongly("call with a wrong token", errToken)
	}
	c.who, c.as = "token:"+t.Name, t.Role
	if !c.calls.Allow(t.Name, c.Now()) {
		return errTooMany
	}
	if t.Role < o.Need {
		if o.Act() == "" {
			c.audit(c.r.Method+" "+c.r.URL.Path, "", errRole)
		}
		return errRole
	}
	return nil
}

// token is the one that was sent.
func (c *call) token() (t access.Token, known bool, err error) {
	scheme, secret, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") { // RFC 9110 §11.1
		return t, false, nil
	}
	return c.Book.Token(strings.TrimSpace(secret))
}

// wrongly counts a call without a valid token. Only so many of them get into the audit log.
func (c *call) wrongly(what string, err error) error {
	if !c.wrong.Allow(access.Client(c.r.RemoteAddr), c.Now()) {
		return errTooMany
	}
	c.audit(what, c.r.Method+" "+c.r.URL.Path, err)
	return err
}

// audit appends to the audit log.
func (c *call) audit(what, about string, err error) {
	e := shared.AuditEntry{
		At:    c.Now().UTC(),
		Who:   c.who,
		From:  c.r.RemoteAddr,
		What:  what,
		Job:   c.job,
		About: about,
	}
	if !job.ValidName(c.job) {
		e.Job = ""
	}
	access.Record(c.Log, "api", c.Facts, e, err)
}

// problems is the answer to what cannot be done.
type problems struct {
	control.Error
	Problems []jobs.JobFileError `json:"problems,omitempty"` // of a job file
}

// fail answers with an error.
func (c *call) fail(err error) {
	p, code := problems{}, http.StatusInternalServerError
	if given, ok := errors.AsType[*problemsError](err); ok {
		p.Problems = given.all
	}
	p.Code, code = codeOf(err)
	p.Message = env.Remedied(err)
	wrong, isWrong := errors.AsType[*control.MethodError](err)
	switch {
	case isWrong:
		c.w.Header().Set("Allow", wrong.Allow)
	case code == http.StatusTooManyRequests:
		c.w.Header().Set("Retry-After", strconv.Itoa(int(wrongEvery.Seconds())))
	case code == http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="mirrord"`)
	case p.Code == control.Internal:
		c.Log.Error("api", "path", c.r.URL.Path, "err", err)
		if c.as < access.Operate { // it may name paths of the machine
			p.Message = "this cannot be answered now; the operator finds the reason in the log of the daemon"
		}
	}
	c.send(code, p)
}

// codeOf returns the code of an error and the status of its answer.
func codeOf(err error) (control.Code, int) {
	_, large := errors.AsType[*http.MaxBytesError](err)
	_, bad := errors.AsType[*problemsError](err)
	_, isAway := errors.AsType[*access.AwayError](err)
	_, wrongMethod := errors.AsType[*control.MethodError](err)
	switch {
	case wrongMethod:
		return control.WrongWay, http.StatusMethodNotAllowed
	case errors.Is(err, errToken), errors.Is(err, errUnsigned):
		return unauthorized, http.StatusUnauthorized
	case isAway:
		return away, http.StatusBadGateway
	case errors.Is(err, errRole):
		return forbidden, http.StatusForbidden
	case errors.Is(err, errTooMany), errors.Is(err, errCallsHere):
		return tooMany, http.StatusTooManyRequests
	case large:
		return tooLarge, http.StatusRequestEntityTooLarge
	case errors.Is(err, errNoMatch):
		return precondition, http.StatusPreconditionRequired
	case errors.Is(err, jobs.ErrJobMoved):
		return precondition, http.StatusPreconditionFailed
	case errors.Is(err, errNoCall):
		return control.NotFound, http.StatusNotFound
	case bad:
		return control.Invalid, http.StatusUnprocessableEntity
	}
	code := ops.CodeOf(err)
	return code, ops.StatusOf(code)
}

// send answers with JSON.
func (c *call) send(code int, v any) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(code)
	if err := json.NewEncoder(c.w).Encode(v); err != nil {
		c.Log.Debug("answer not sent", "err", err)
	}
}
