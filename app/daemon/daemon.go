// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/app/replicas"
	"mirrord/app/shares"
	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/phm/space"
	"mirrord/scheduler"
	"mirrord/scheduler/notify"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
)

// DaemonOptions are the choices of a daemon. The zero value of a field is the scheduler's default.
type DaemonOptions struct {
	MaxRuns   int // that work at a time
	MaxParked int // runs under way besides, because some only wait
	// over which jobs that are due together are spread; below 0 they start together
	Spread     time.Duration
	StopWithin time.Duration // how long runs have to end
	MaxState   job.Size      // bytes that all mirrors together may take; 0: no limit
	Space      string        // of jobs that name none; "": of none
	Cluster    shares.Peers  // of which the daemon is a part; nil: of none
	// where a cluster has its sites between runs; nil: on the disks of its machines
	Depot  shares.Travels
	Users  *shares.ClusterUsers // what its users want; nil: this is of no cluster
	Notify life.NotifyOptions
	About  status.Daemon // what does not change; State and Jobs are filled in
}

// NewDaemon makes a daemon on a state whose lock its caller holds (TakeState). It starts nothing: its caller
// runs Schedule, Tell, Watch and Tidy, each in a goroutine of its own.
func NewDaemon(a *env.App, st *store.State, o DaemonOptions) (*Daemon, error) {
	tell, err := life.Transport(a, o.Notify)
	if err != nil {
		return nil, err
	}
	tell.Transport = jobs.Webhooks(a, st.PublicNames)
	if err := site.CheckJobName(o.Space); o.Space != "" && err != nil {
		return nil, env.Usagef("space: %w", err)
	}
	if err := space.TakeAll(st.Dir, o.Space); err != nil {
		return nil, err
	}
	jobList, err := filepath.Abs(a.Jobs)
	if err != nil {
		return nil, err
	}
	o.About.State, o.About.Jobs = st.Dir, jobList
	d := &Daemon{
		App:        a,
		State:      st,
		tell:       notify.New(tell),
		Log:        a.Log,
		about:      o.About,
		Politeness: new(fetch.Hosts),
		Texts:      NewKeptIndex(a, st),
		most:       new(atomic.Int64),
	}
	d.most.Store(int64(o.MaxState))
	var kept scheduler.Store = jobs.Records{Kept: st.Shared, Log: a.Log}
	if o.Cluster != nil {
		d.Politeness.Beyond = o.Cluster
		if d.Share, err = shares.NewShare(o.Cluster, st, o.Depot, a.Log); err != nil {
			return nil, err
		}
		if o.Users != nil {
			d.Share.Exchange = o.Users.Exchange
		}
		kept = shares.SharedRecords{Records: jobs.Records{Kept: st.Shared, Log: a.Log}, Share: d.Share}
	} else if err := replicas.ForgetElsewhere(st.Dir); err != nil {
		return nil, err
	}
	d.Scheduler, err = scheduler.New(scheduler.Options{
		Runner: &runner{
			app:     a,
			st:      st,
			hosts:   d.Politeness,
			most:    d.most,
			repairs: &d.repairs,
			texts:   d.Texts,
			share:   d.Share,
		},
		Store:      kept,
		Teller:     d.tell,
		Free:       func() (int64, error) { return disk.FreeBytes(st.Dir) },
		Empty:      func(name string) bool { return store.EmptySite(st, name) },
		MaxRuns:    o.MaxRuns,
		MaxParked:  o.MaxParked,
		Spread:     o.Spread,
		StopWithin: o.StopWithin,
		Now:        a.Now,
		Log:        a.Log,
	})
	d.Files = &JobFiles{
		scheduler: d.Scheduler,
		share:     d.Share,
		dir:       scheduler.NewDir(append([]string{jobList}, a.JobDirs()[1:]...)...),
	}
	d.Upkeep = upkeepOf(d)
	return d, err
}

// About is what does not change of a daemon.
func (d *Daemon) About() status.Daemon { return d.about }

// UseSettings puts settings in force: how messages leave the machine, and how many bytes all mirrors may
// take.
func UseSettings(d *Daemon, n life.NotifyOptions, most job.Size) error {
	o, err := life.Transport(d.App, n)
	if err != nil {
		return err
	}
	d.tell.Use(o.Host, o.Mail)
	d.most.Store(int64(most))
	return nil
}

// ReadSettings reads the settings again, where there are some.
func ReadSettings(d *Daemon) error {
	if d.Settings == nil {
		return nil
	}
	return d.Settings()
}

// Schedule runs jobs at their times until ctx ends, and then waits for the runs that are under way.
func (d *Daemon) Schedule(ctx context.Context) error {
	defer d.Share.Close(lastMoves)
	return d.Scheduler.Run(ctx)
}

// lastMoves is how long sites may take to get to the depot of a cluster after the last runs.
const lastMoves = 20 * time.Second

// Tell delivers messages until ctx ends.
func (d *Daemon) Tell(ctx context.Context) { d.tell.Run(ctx) }

// Watch puts the jobs directory in force: at once, when it changes, when again says so, and from time to
// time, until ctx ends. What goes wrong is in the log and the status.
func (d *Daemon) Watch(ctx context.Context, poll time.Duration, again <-chan struct{}) {
	looked := make(chan struct{}, 1) // spaces may take long; one look at them follows those that came meanwhile
	var spaces sync.WaitGroup
	defer spaces.Wait()
	defer close(looked)
	spaces.Go(func() {
		for range looked {
			syncSpacesOf(ctx, d)
		}
	})
	scheduler.Watch(ctx, d.Files.dir.Watched(), scheduler.WatchOptions{
		Poll: poll,
		Log:  d.Log,
	}, again, func() {
		d.Files.Reread(ctx)
		shares.Kick(looked)
	})
}

// Ready reports whether the jobs directory has been read and the daemon does its work.
func (d *Daemon) Ready() bool { return d.Scheduler.Status().Daemon.Ready }

// Forget drops the state of hosts that received no request for a day.
func (d *Daemon) Forget(now time.Time) { d.Politeness.Prune(now.Add(-24*time.Hour), now) }

// Line says in one line how things stand.
func (d *Daemon) Line() string {
	all := d.Scheduler.Status()
	counts := map[status.Health]int{}
	waits, paused := 0, 0
	for i := range all.Jobs {
		j := &all.Jobs[i]
		counts[j.Health]++
		if j.Waits != nil {
			waits++
		}
		if j.Activity == status.Paused {
			paused++
		}
	}
	s := fmt.Sprintf("%s, %d running", count.Of(len(all.Jobs), "job"), all.Daemon.Running)
	add := func(n int, what string) {
		if n > 0 {
			s += fmt.Sprintf(", %d %s", n, what)
		}
	}
	add(waits, "waiting")
	add(paused, "paused")
	for _, h := range status.Healths()[2:] {
		add(counts[h], string(h))
	}
	if all.Daemon.Problem != "" {
		s += "; the jobs directory cannot be read"
	}
	return s
}

// Wanted returns the jobs of all as they were last read.
func (d *Daemon) Wanted() scheduler.Config {
	return d.Share.All(d.Scheduler.Config())
}
