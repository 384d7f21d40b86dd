// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// decided is a daemon whose Reload returns once its one job is paused or has made a request.
type decided struct {
	*daemon.Daemon
	requests *atomic.Int64
}

func (d decided) Reload() (control.Reloaded, error) {
	out, err := d.Daemon.Reload()
	for ; err == nil && d.requests.Load() == 0; time.Sleep(time.Millisecond) { // a run begins in a goroutine
		if d.Status().Jobs[0].Activity == status.Paused {
			break
		}
	}
	return out, err
}

// "Save only" makes a mirror for which no request is made until it is resumed: not even between the moments
// in which the daemon reads its file and the user sees the answer.
func TestSaveOnly(t *testing.T) {
	requests, asked := new(atomic.Int64), make(chan struct{}, 1)
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	defer site.Close()
	a := apptest.BareApp(t.TempDir(), t.TempDir())
	a.Network = apptest.NamedHosts{
		Addrs:  map[string]string{"new.example": "93.184.216.34"},
		Server: site.Listener.Addr().String(),
	}
	st, err := store.OpenState(apptest.StateOf(t, a), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	lock, err := env.TakeState(st.Dir, env.Owner{}, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	d, err := daemon.NewDaemon(a, st, daemon.DaemonOptions{Spread: -1, StopWithin: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { d.Schedule(ctx) })

	b := newBrowser(t, func(o *Options) { o.App, o.Daemon = a, decided{d, requests} })
	b.login(Operate)
	form := url.Values{"url": {"http://new.example/"}, "name": {"new"}, "every": {"@weekly"}, "do": {"save"}}
	b.want(http.StatusSeeOther, "/jobs/new", "/new", form)
	if j, err := d.Job("new"); err != nil || j.Activity != status.Paused || requests.Load() > 0 {
		t.Errorf("%v, %v: the job is %s after %d requests", j.Name, err, j.Activity, requests.Load())
	}
	b.want(http.StatusSeeOther, "/jobs/new", "/jobs/new/resume", url.Values{})
	<-asked
}
