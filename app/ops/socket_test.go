// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// fakeAPI knows one job, "a".
type fakeAPI struct {
	mu     sync.Mutex
	called []string
	run    chan struct{}
	alive  error
	ready  bool
}

func (f *fakeAPI) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, what)
}

func (f *fakeAPI) Status() status.All {
	return status.All{
		Daemon: status.Daemon{PID: 7, Ready: f.ready},
		Jobs:   []status.Job{{Name: "a", Health: status.OK}},
	}
}

func (f *fakeAPI) Job(name string) (status.Job, error) {
	if name != "a" {
		return status.Job{}, fmt.Errorf("job %s: %w", name, control.ErrNotFound)
	}
	return status.Job{Name: "a", Progress: &status.Progress{Done: 5}}, nil
}

func (f *fakeAPI) Progress(name string) (status.Job, error) { return f.Job(name) }

func (f *fakeAPI) Runs(name string, n int) ([]status.Run, error) {
	if _, err := f.Job(name); err != nil {
		return nil, err
	}
	return make([]status.Run, n), nil
}

type fakeRun struct{ done chan struct{} }

func (r fakeRun) Done() <-chan struct{} { return r.done }
func (r fakeRun) Result() (status.Run, error) {
	return status.Run{Verdict: status.VerdictComplete, Version: 3}, nil
}

func (f *fakeAPI) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	f.note(fmt.Sprintf("run %s %v %v", name, r.Accept, r.Set))
	switch name {
	case "a":
		return fakeRun{f.run}, true, nil
	case "busy":
		return nil, false, fmt.Errorf("run busy: %w", control.ErrConflict)
	case "broken":
		return nil, false, errors.New("something else")
	}
	return nil, false, fmt.Errorf("job %s: %w", name, control.ErrNotFound)
}

func (f *fakeAPI) Cancel(name string) error { f.note("cancel " + name); return nil }
func (f *fakeAPI) Pause(name string) error  { f.note("pause " + name); return nil }
func (f *fakeAPI) Resume(name string) error {
	f.note("resume " + name)
	return fmt.Errorf("resume %s: %w", name, control.ErrConflict)
}
func (f *fakeAPI) NotifyTest(context.Context, string) ([]control.Told, error) {
	return []control.Told{{To: "command"}, {To: "mail", Error: "no mailer"}}, nil
}
func (f *fakeAPI) Reload() (control.Reloaded, error) {
	return control.Reloaded{Jobs: 1, Changes: []status.Change{{Kind: "added", Job: "a"}}}, nil
}
func (f *fakeAPI) Alive() error                                          { return f.alive }
func (f *fakeAPI) Registry() (any, error)                                { return nil, nil }
func (f *fakeAPI) Gather(context.Context) error                          { return nil }
func (f *fakeAPI) Register(_ context.Context, _, at string) (any, error) { return at, nil }

// serve serves an API on a socket.
func serve(t *testing.T, api control.API) (*control.Client, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sock")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mirrord.sock")
	l, err := control.Listen(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: NewServer(Host{Daemon: api}, slog.New(slog.DiscardHandler))}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return control.NewClient(path), path
}

// overSocket is a client that connects to a socket.
func overSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives: true,
	}}
}

func TestCalls(t *testing.T) {
	api := &fakeAPI{}
	c, path := serve(t, api)
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o660 {
		t.Errorf("%v, %v", fi, err)
	}
	ctx := t.Context()
	if all, err := c.Status(ctx); err != nil || all.Daemon.PID != 7 || len(all.Jobs) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if j, err := c.Job(ctx, "a"); err != nil || j.Name != "a" {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := c.Job(ctx, "../b c/"); !errors.Is(err, control.ErrNotFound) ||
		err.Error() != "job ../b c/: not found" {
		t.Errorf("%v", err)
	}
	if runs, err := c.Runs(ctx, "a", 3); err != nil || len(runs) != 3 {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := c.Runs(ctx, "b", 3); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := c.Runs(ctx, "a", 0); !errors.Is(err, control.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if j, err := c.Cancel(ctx, "a"); err != nil || j.Name != "a" {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := c.Pause(ctx, "a"); err != nil {
		t.Error(err)
	}
	if _, err := c.Resume(ctx, "a"); !errors.Is(err, control.ErrConflict) {
		t.Errorf("%v", err)
	}
	if told, err := c.NotifyTest(ctx, "a"); err != nil || len(told) != 2 || told[1].Error != "no mailer" {
		t.Errorf("%+v, %v", told, err)
	}
	if re, err := c.Reload(ctx); err != nil || re.Jobs != 1 || re.Changes[0].Kind != "added" {
		t.Errorf("%+v, %v", re, err)
	}
	if got := strings.Join(api.called, ", "); got != "cancel a, pause a, resume a" {
		t.Errorf("called %s", got)
	}
}

func TestRun(t *testing.T) {
	api := &fakeAPI{run: make(chan struct{})}
	c, _ := serve(t, api)
	var events []control.Event
	progressed := make(chan struct{})
	go func() {
		<-progressed
		close(api.run)
	}()
	run, err := c.Run(t.Context(), "a", control.RunRequest{Wait: true, Set: []string{"title=x"}},
		func(e control.Event) {
			if events = append(events, e); e.Job != nil && len(events) == 2 {
				close(progressed)
			}
		})
	if err != nil || run.Version != 3 || !*events[0].Attached || events[1].Job.Progress.Done != 5 {
		t.Errorf("%+v, %v, %+v", run, err, events)
	}
	if run, err := c.Run(t.Context(), "a", control.RunRequest{}, func(control.Event) {}); run != nil ||
		err != nil {
		t.Errorf("%+v, %v", run, err)
	}
	for name, want := range map[string]error{"busy": control.ErrConflict, "none": control.ErrNotFound} {
		if _, err := c.Run(t.Context(), name, control.RunRequest{Wait: true},
			func(control.Event) {}); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var e *control.Error
	if _, err := c.Run(t.Context(), "broken", control.RunRequest{}, func(control.Event) {}); !errors.As(err,
		&e) ||
		e.Code != control.Internal {
		t.Errorf("%v", err)
	}
	if api.called[0] != "run a false [title=x]" {
		t.Errorf("%q", api.called)
	}
}

// Who goes away does not end the run; a daemon that goes away is noticed.
func TestGoingAway(t *testing.T) {
	api := &fakeAPI{run: make(chan struct{})}
	c, _ := serve(t, api)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	if _, err := c.Run(ctx, "a", control.RunRequest{Wait: true},
		func(control.Event) { cancel(why) }); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	select {
	case <-api.run:
		t.Error("the run ended")
	default:
	}

	path := filepath.Join(t.TempDir(), "s")
	l, err := control.Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: NewServer(Host{Daemon: api}, slog.New(slog.DiscardHandler))}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	_, err = control.NewClient(path).Run(t.Context(), "a", control.RunRequest{Wait: true},
		func(e control.Event) {
			if e.Attached != nil {
				srv.Close()
			}
		})
	if !errors.Is(err, control.ErrGone) {
		t.Errorf("%v", err)
	}
	<-done
	if _, err := control.NewClient(path).Status(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "connect to the daemon at "+path) {
		t.Errorf("%v", err)
	}
}

// An invalid request is answered with an error and does nothing.
func TestBadRequests(t *testing.T) {
	api := &fakeAPI{}
	_, path := serve(t, api)
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/jobs/a/cancel", "", 405}, {"POST", "/v1/status", "", 405}, {"GET", "/v2/status", "", 404},
		{"GET", "/", "", 404}, {"POST", "/v1/jobs//run", "", 405},
		{"POST", "/v1/jobs/a/run", "{", 400}, {"POST", "/v1/jobs/a/run", `{"unknown":1}`, 400},
		{"POST", "/v1/jobs/a/run", `"x"`, 400},
		{"POST", "/v1/jobs/a/run", `{"set":["` + strings.Repeat("x", 1<<20) + `"]}`, 400},
		{"DELETE", "/v1/jobs/a", "", 405}, {"GET", "/v1/jobs/%2e%2e/run", "", 405},
		{"GET", "/debug/pprof/", "", 200},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://mirrord"+tc.path,
			strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := overSocket(path).Do(req)
		if err != nil {
			t.Errorf("%s %s: %v", tc.method, tc.path, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if (resp.Header.Get("Allow") != "") != (tc.want == 405) {
			t.Errorf("%s %s: Allow: %q", tc.method, tc.path, resp.Header.Get("Allow"))
		}
		if resp.StatusCode != tc.want || (tc.want >= 400 && !bytes.Contains(body, []byte(`"error":"`))) {
			t.Errorf("%s %s: %d %.100s, want %d", tc.method, tc.path, resp.StatusCode, body, tc.want)
		}
	}
	if len(api.called) > 0 {
		t.Errorf("called %q", api.called)
	}
}

func TestObserve(t *testing.T) {
	api := &fakeAPI{}
	_, socket := serve(t, api)
	get := func(path string) (int, string) {
		resp, err := overSocket(socket).Get("http://mirrord" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, `mirrord_jobs{state="ok"} 1`) {
		t.Errorf("%d %s", code, body)
	}
	for _, tc := range []struct {
		alive error
		ready bool
		path  string
		want  int
	}{
		{nil, false, "/healthz", 200}, {nil, false, "/readyz", 503}, {nil, true, "/readyz", 200},
		{errors.New("stuck"), true, "/healthz", 503}, {errors.New("stuck"), true, "/readyz", 503},
	} {
		api.alive, api.ready = tc.alive, tc.ready
		if code, body := get(tc.path); code != tc.want {
			t.Errorf("%+v: %d %s", tc, code, body)
		}
	}
}
