// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/look"
	"mirrord/app/ops"
	"mirrord/app/orders"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// openAPI describes the API.
//
//go:generate go test . -run ^TestOpenAPI$ -update
//go:embed openapi.yaml
var openAPI []byte

// handlers are the calls by their operations. An error that one returns becomes the answer.
func handlers() map[string]func(c *call) error {
	return map[string]func(c *call) error{
		"describe":    describe,
		"hook":        takeHook,
		"whoAmI":      whoAmI,
		"metrics":     metrics,
		"listJobs":    reading(listJobs),
		"versions":    reading(listVersions),
		"audit":       reading(listAudit),
		"readFile":    readFile,
		"createJob":   createJob,
		"changeFile":  changeFile,
		"find":        reading(findTexts),
		"listOrders":  reading(listOrders),
		"draftOrder":  draftOrder,
		"order":       ordering(showOrder),
		"placeOrder":  ordering(placeOrder),
		"cancelOrder": ordering(cancelOrder),
		"judgeOrder":  ordering(judgeOrder),
		"orderFile":   orderFile,
	}
}

// handlerOf is how an operation is done: by its handler, else by that of the table, on the node that
// holds what it acts on.
func handlerOf(o ops.Operation) func(c *call) error {
	handle := handlers()[o.Name]
	if handle == nil {
		handle = answer(o)
	}
	switch {
	case o.Name == "run":
		return lasting(handle)
	case o.Where != ops.Holder:
		return handle
	case o.On == ops.Job:
		return ofMirror(handle)
	case o.Name == "orderFile":
		return ofOrder(orders.ToFetch, handle)
	case o.Risk == ops.Reads:
		return ofOrder(orders.ToShow, handle)
	}
	return ofOrder(orders.ToAct, handle)
}

// reading is a call that answers with what a query asks for.
func reading[Query any](read func(*call, Query) (any, error)) func(*call) error {
	return func(c *call) error {
		var q Query
		if err := ops.ReadValues(c.r.URL.Query(), &q); err != nil {
			return err
		}
		out, err := read(c, q)
		if err == nil {
			c.send(http.StatusOK, out)
		}
		return err
	}
}

// noCall refuses a path that there is not, or not with this method.
func noCall(c *call) error { return cmp.Or(control.WrongMethod(c.mux, c.r), errNoCall) }

// describe sends openapi.yaml.
func describe(c *call) error {
	c.w.Header().Set("Content-Type", "application/yaml")
	c.w.Write(openAPI) // an error means that the client has disconnected
	return nil
}

// me is whose token was sent.
type me struct {
	Name string `json:"name"` // token:NAME
	Role string `json:"role"`
}

func whoAmI(c *call) error {
	c.send(http.StatusOK, me{c.who, c.as.String()})
	return nil
}

// changeWait is how long a change may take. The test of a place that is registered is as polite as runs are,
// so that it takes a minute or more.
const changeWait = 20 * time.Minute

// answer does an operation as its row of the table says.
func answer(o ops.Operation) func(c *call) error {
	return func(c *call) error {
		c.w.Header().Set("X-Accel-Buffering", "no") // nginx would keep the events of a run until they are many
		if o.Risk > ops.Reads {
			err := http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(changeWait))
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		if o.Risk == ops.Deletes {
			if err := c.confirmed(); err != nil {
				return err
			}
		}
		a := ops.Act{Host: ops.Host{Daemon: c.Daemon, App: c.App}, Job: c.job, Who: c.who}
		return o.Answer(steady{c.w}, c.r, a, c.Log)
	}
}

// lasting is a call whose answer may be a stream of events. It ends soon after the token is refused.
func lasting(answer func(*call) error) func(*call) error {
	return func(c *call) error {
		if access.GuestOf(c.r) != nil { // the node that has passed it on ends it
			return answer(c)
		}
		was := *c
		ctx, end := access.While(c.r.Context(), func() error {
			if t, known, err := was.token(); err == nil && (!known || t.Role < c.as) {
				return errToken
			}
			return nil
		})
		defer end()
		c.r = c.r.WithContext(ctx)
		err := answer(c)
		if errors.Is(context.Cause(ctx), errToken) && c.w.Header().Get("Content-Type") == "application/x-ndjson" {
			_ = json.NewEncoder(c.w).Encode(control.Event{Error: &control.Error{
				Code:    unauthorized,
				Message: errToken.Error(),
			}}) // an error: the client has disconnected
		}
		return err
	}
}

// streamWait is how long a client may take to read a part of an answer that lasts as long as a run.
const streamWait = time.Minute

// steady gives an answer that comes in parts time for the next one.
type steady struct{ http.ResponseWriter }

// FlushError implements what an http.ResponseController looks for.
func (w steady) FlushError() error {
	c := http.NewResponseController(w.ResponseWriter)
	err := c.SetWriteDeadline(time.Now().Add(streamWait))
	if err != nil && !errors.Is(err, http.ErrNotSupported) { // writers that have no deadline
		return err
	}
	return c.Flush()
}

// metrics are those of the status page.
func metrics(c *call) error {
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	status.WriteMetrics(c.w, c.Daemon.Status()) // an error: the client has disconnected
	return nil
}

// jobList is a page of the list of jobs.
type jobList struct {
	Jobs []status.Job `json:"jobs"`           // by name
	Next string       `json:"next,omitempty"` // the value of after for the next page; "": this is the last one
}

// jobsQuery asks for a page of the list of jobs.
type jobsQuery struct {
	Limit int    `json:"limit,omitempty" bounds:"1,1000,100"` // how many
	After string `json:"after,omitempty"`                     // next of the page before
}

func listJobs(c *call, q jobsQuery) (any, error) {
	out := jobList{Jobs: []status.Job{}}
	for _, j := range c.Daemon.Status().Jobs {
		switch {
		case j.Name <= q.After:
		case len(out.Jobs) == q.Limit:
			out.Next = out.Jobs[q.Limit-1].Name
		default:
			out.Jobs = append(out.Jobs, j)
		}
	}
	return out, nil
}

// listVersions lists the kept versions of a mirror, oldest first.
func listVersions(c *call, _ ops.None) (any, error) {
	if _, err := c.Daemon.Progress(c.job); err != nil {
		return nil, err
	}
	vs, err := look.Versions(c.App, c.job)
	for i := range vs {
		vs[i].Meta = nil // the table of its files
	}
	return vs, err
}

// auditQuery asks for acts.
type auditQuery struct {
	Limit int `json:"limit,omitempty" bounds:"1,1000,100"` // how many
}

// listAudit lists the last acts, newest first.
func listAudit(c *call, q auditQuery) (any, error) {
	all, err := c.Acts(c.r.Context(), q.Limit)
	c.missing(all.Away)
	return append([]shared.AuditEntry{}, all.Entries...), err
}

// missing names the nodes of a cluster whose part of an answer is missing.
func (c *call) missing(away []status.NodeSaid) {
	var names []string
	for _, node := range away {
		names = append(names, node.Name)
	}
	if names != nil {
		c.w.Header().Set("Mirrord-Missing", strings.Join(names, ","))
	}
}

// body decodes the body of a request into a value.
func (c *call) body(into any) error {
	d := json.NewDecoder(c.r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more than one value")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: body: %w", control.ErrInvalid, err)
	}
	return nil
}
