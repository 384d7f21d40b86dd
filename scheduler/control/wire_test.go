// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/scheduler/status"
	"mirrord/testing/wiretest"
)

// wireOf returns the exchanges that were recorded from the release before.
func wireOf(t *testing.T) (all []wiretest.Talk) {
	for _, name := range []string{"looks", "run", "orders"} {
		all = append(all, wiretest.Read(t, "testdata/wire/"+name+".txt")...)
	}
	return all
}

// recordedAPI says what a recorded answer says. Safe for one request at a time.
type recordedAPI struct {
	t      *testing.T
	says   wiretest.Response
	events []Event // of a run, that are still to come
	done   chan struct{}
	asked  *RunRequest
}

// said is what an answer says, as a function of the API returns it.
func said[T any](a *recordedAPI) (v T, err error) {
	if a.says.Code >= 400 {
		e := new(Error)
		if err := json.Unmarshal([]byte(a.says.Body), e); err != nil {
			a.t.Error(err)
		}
		return v, e
	}
	d := json.NewDecoder(strings.NewReader(a.says.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		a.t.Error(err)
	}
	return v, nil
}

func (a *recordedAPI) Status() status.All {
	if !strings.HasPrefix(a.says.Body, "{") { // /readyz
		return status.All{Daemon: status.Daemon{Ready: true}}
	}
	all, _ := said[status.All](a)
	return all
}

func (a *recordedAPI) Job(string) (status.Job, error)                    { return said[status.Job](a) }
func (a *recordedAPI) Runs(string, int) ([]status.Run, error)            { return said[[]status.Run](a) }
func (a *recordedAPI) Cancel(string) error                               { return a.does() }
func (a *recordedAPI) Pause(string) error                                { return a.does() }
func (a *recordedAPI) Resume(string) error                               { return a.does() }
func (a *recordedAPI) Reload() (Reloaded, error)                         { return said[Reloaded](a) }
func (a *recordedAPI) Registry() (any, error)                            { return said[any](a) }
func (a *recordedAPI) Gather(context.Context) error                      { return a.does() }
func (a *recordedAPI) Done() <-chan struct{}                             { return a.done }
func (a *recordedAPI) OpenConsole(string, OpenRequest) (OpenLink, error) { return said[OpenLink](a) }

func (a *recordedAPI) NotifyTest(context.Context, string) ([]Told, error) { return said[[]Told](a) }

func (a *recordedAPI) Register(context.Context, string, string) (any, error) { return said[any](a) }

func (a *recordedAPI) does() error {
	_, err := said[any](a)
	return err
}

func (a *recordedAPI) Alive() error {
	if a.says.Code >= 400 {
		return errors.New(a.says.Body)
	}
	return nil
}

// Run begins with the recorded events.
func (a *recordedAPI) Run(_ string, r RunRequest) (run Running, attached bool, err error) {
	a.asked = &r
	if a.says.Code >= 400 {
		_, err := said[any](a)
		return nil, false, err
	}
	d := json.NewDecoder(strings.NewReader(a.says.Body))
	d.DisallowUnknownFields()
	for d.More() {
		var e Event
		if err := d.Decode(&e); err != nil {
			a.t.Fatal(err)
		}
		if e.Attached != nil {
			attached = *e.Attached
		}
		if e.Attached == nil || e.Job != nil {
			a.events = append(a.events, e)
		}
	}
	return a, attached, nil
}

// Progress is the next event of a run. After the last one that has a job the run has ended.
func (a *recordedAPI) Progress(string) (status.Job, error) {
	j := *a.events[0].Job
	if a.events = a.events[1:]; len(a.events) == 0 || a.events[0].Job == nil {
		close(a.done)
	}
	return j, nil
}

// Result is the last event.
func (a *recordedAPI) Result() (status.Run, error) {
	if e := a.events[0]; e.Run == nil {
		return status.Run{}, e.Error
	}
	return *a.events[0].Run, nil
}

// TestWireServer sends what clients of the release before send: the server answers as the one of then did.
func TestWireServer(t *testing.T) {
	for _, e := range wireOf(t) {
		t.Run(e.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &recordedAPI{t: t, says: e.Response, done: make(chan struct{})}
				w := httptest.NewRecorder()
				NewServer(api, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(),
					e.Request.Method, e.Request.Target, strings.NewReader(e.Request.Body)))
				if err := e.Response.Lacks(wiretest.Received(t, w.Result())); err != nil {
					t.Error(err)
				}
				if api.asked == nil || e.Request.Body == "" {
					return
				}
				if asked, err := json.Marshal(api.asked); err != nil || string(asked) != e.Request.Body {
					t.Errorf("understood as %s (%v)", asked, err)
				}
			})
		})
	}
}

// call makes the request of an exchange with a client, and returns what that makes of the answer, as JSON.
func call(ctx context.Context, c *Client, r wiretest.Request) (string, error) {
	path, _, _ := strings.Cut(r.Target, "?")
	name, verb, isJob := "", strings.TrimPrefix(path, "/v1/"), false
	if verb, isJob = strings.CutPrefix(verb, "jobs/"); isJob {
		name, verb, _ = strings.Cut(verb, "/")
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		return "", err
	}
	switch verb {
	case "run":
		return callRun(ctx, c, name, r.Body)
	case "cancel":
		return asJSON(c.Cancel(ctx, name))
	case "pause":
		return asJSON(c.Pause(ctx, name))
	case "resume":
		return asJSON(c.Resume(ctx, name))
	case "notify":
		return asJSON(c.NotifyTest(ctx, name))
	case "runs":
		n, err := strconv.Atoi(r.Target[strings.LastIndex(r.Target, "=")+1:])
		if err != nil {
			return "", err
		}
		return asJSON(c.Runs(ctx, name, n))
	case "":
		return asJSON(c.Job(ctx, name))
	case "status":
		return asJSON(c.Status(ctx))
	case "reload":
		return asJSON(c.Reload(ctx))
	case "console":
		return asJSON(c.OpenConsole(ctx, OpenRequest{Role: "order"}))
	case "replicas":
		return asJSON(struct{}{}, c.Gather(ctx))
	case "registry":
		var v any
		err := c.Registry(ctx, &v)
		return asJSON(v, err)
	case "/healthz":
		if err := c.Health(ctx); err != nil {
			return err.Error(), nil
		}
		return "ok", nil
	}
	return "", errors.New("no call for " + r.Target)
}

// callRun is call for a run: the events that were heard.
func callRun(ctx context.Context, c *Client, name, body string) (string, error) {
	var r RunRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return "", err
	}
	var heard strings.Builder
	run, err := c.Run(ctx, name, r, func(e Event) { _ = json.NewEncoder(&heard).Encode(e) })
	if heard.Len() == 0 {
		return asJSON(run, err)
	}
	if ended := run != nil || err != nil; ended != r.Wait {
		return "", fmt.Errorf("returned %v, %w", run, err)
	}
	return heard.String(), nil
}

func asJSON[T any](v T, err error) (string, error) {
	var says *Error
	var text []byte
	var merr error
	switch {
	case errors.As(err, &says):
		text, merr = json.Marshal(says)
	case err != nil:
		return "", err
	default:
		text, merr = json.Marshal(v)
	}
	return string(text), merr
}

// serveExchange returns a client of a server that gives one answer, and says how the request differs.
func serveExchange(t *testing.T, e wiretest.Talk) (*Client, <-chan error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1) // room for the one request
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := wiretest.Sent(r)
		sent <- errors.Join(err, e.Request.Differs(got))
		e.Response.ServeHTTP(w, r)
	}))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	return NewClient(path), sent
}

// TestWireClient lets a client talk to a server that answers as the one of the release before did: the client
// sends what the one of then sent, and understands the answers.
func TestWireClient(t *testing.T) {
	for _, e := range wireOf(t) {
		if strings.HasPrefix(e.Name, "raw: ") {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			c, sent := serveExchange(t, e)
			got, err := call(t.Context(), c, e.Request)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if e.Response.Type == "text/plain" {
				if !strings.HasSuffix(got, e.Response.Body) {
					t.Errorf("understood as %q, want %q", got, e.Response.Body)
				}
			} else if err := e.Response.LacksJSON(got); err != nil {
				t.Error(err)
			}
		})
	}
}
