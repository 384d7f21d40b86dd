// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/testing/wiretest"
)

// wireOf returns the exchanges that were recorded from the release before.
func wireOf(t *testing.T) (all []wiretest.Talk) {
	for _, name := range []string{"looks", "run", "orders"} {
		all = append(all, wiretest.Read(t, "../../scheduler/control/testdata/wire/"+name+".txt")...)
	}
	return all
}

// recordedAPI says what a recorded answer says. Safe for one request at a time.
type recordedAPI struct {
	t      *testing.T
	says   wiretest.Response
	events []control.Event // of a run, that are still to come
	done   chan struct{}
	asked  *control.RunRequest
}

// said is what an answer says, as a function of the API returns it.
func said[T any](a *recordedAPI) (v T, err error) {
	if a.says.Code >= 400 {
		e := new(control.Error)
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

func (a *recordedAPI) Job(string) (status.Job, error)         { return said[status.Job](a) }
func (a *recordedAPI) Runs(string, int) ([]status.Run, error) { return said[[]status.Run](a) }
func (a *recordedAPI) Cancel(string) error                    { return a.does() }
func (a *recordedAPI) Pause(string) error                     { return a.does() }
func (a *recordedAPI) Resume(string) error                    { return a.does() }
func (a *recordedAPI) Reload() (control.Reloaded, error)      { return said[control.Reloaded](a) }
func (a *recordedAPI) Registry() (any, error)                 { return said[any](a) }
func (a *recordedAPI) Gather(context.Context) error           { return a.does() }
func (a *recordedAPI) Done() <-chan struct{}                  { return a.done }
func (a *recordedAPI) OpenConsole(string, control.OpenRequest) (control.OpenLink, error) {
	return said[control.OpenLink](a)
}

func (a *recordedAPI) NotifyTest(context.Context, string) ([]control.Told, error) {
	return said[[]control.Told](a)
}

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
func (a *recordedAPI) Run(_ string, r control.RunRequest) (run control.Running, attached bool, err error) {
	a.asked = &r
	if a.says.Code >= 400 {
		_, err := said[any](a)
		return nil, false, err
	}
	d := json.NewDecoder(strings.NewReader(a.says.Body))
	d.DisallowUnknownFields()
	for d.More() {
		var e control.Event
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
				h := NewServer(Host{Daemon: api, Open: api.OpenConsole}, slog.New(slog.DiscardHandler))
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(),
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
