// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/app/serving"
	"mirrord/app/shares"
	"mirrord/fetch"
	"mirrord/internal/timed"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/serve"
)

// Nodes is how a daemon reaches the others of its cluster. *engine.Engine is one. Safe for concurrent use.
type Nodes interface {
	Me() string        // the name of this node
	Members() []string // of those that are part of the cluster now
	// NodeOf returns the node that has a site, or on whose disk it lies; "": none.
	NodeOf(ctx context.Context, site string) (string, error)
	To(node string) http.RoundTripper
	// Answer lets h answer the requests of other nodes until stop is called, which waits.
	Answer(h http.Handler) (stop func(), err error)
	// Lend lets other nodes have turns of this node's hosts, and this one turns of theirs, until stop is called.
	Lend(h *fetch.Hosts) (stop func(), err error)
}

// Shown is what the console asks of the daemon that it belongs to.
type Shown interface {
	control.API
	// Glance is Status without a look at each published file.
	Glance() status.All
	// Titles reads what published mirrors say of themselves; one that cannot be read has no entry.
	Titles(names []string) map[string]daemon.MirrorTitle
	// Acts returns the last n entries of the audit log, newest first.
	Acts(ctx context.Context, n int) (shares.Acts, error)
}

// Face is what a daemon shows of itself: *Daemon of one machine, *Everywhere of all nodes of a cluster.
type Face interface {
	Shown
	// Fronts is what front pages of mirror sites show, by name.
	Fronts() []serve.Front
	Wanted() scheduler.Config
}

// thisNode is what the daemon of one node answers as it would alone.
type thisNode interface {
	Reload() (control.Reloaded, error)
	Register(ctx context.Context, job, at string) (any, error)
	Alive() error
	Titles(names []string) map[string]daemon.MirrorTitle
	Wanted() scheduler.Config
}

// Everywhere is a Daemon that answers for all nodes of its cluster. What concerns a job that another node has
// goes there. It is safe for concurrent use.
type Everywhere struct {
	thisNode
	Follows bool // it has the mirrors of other nodes too, to read; set before anything is asked

	here  *daemon.Daemon // answers for this node
	nodes Nodes
	ctx   context.Context // of runs elsewhere that a caller here waits for
	stop  func()
	calls *http.ServeMux       // of other nodes
	users *shares.ClusterUsers // nil: nothing is exchanged
	waits time.Duration        // for a job that no node has
	live  sync.Map             // jobs whose runs elsewhere a caller here waits for: *status.Job

	gathers    chan struct{} // size 1: one Gather at a time
	jobs       said[[]status.Job]
	registries said[*replicas.Registry]
}

// How nodes ask one another.
const (
	saidFor    = 2 * time.Second         // so long what a node says of its jobs is used again
	silentFor  = 5 * time.Second         // and so long a node that does not answer is left alone
	saysWithin = 1500 * time.Millisecond // for all jobs, less than a command waits
	doesWithin = 10 * time.Second        // for one job
	lookForIt  = 200 * time.Millisecond  // how often a job that no node has is looked for
)

// Join lets a daemon answer for all nodes of its cluster, and other nodes ask it, until Close is called. What
// they ask of jobs is answered by the handler that calls makes.
func Join(
	d *daemon.Daemon, nodes Nodes, users *shares.ClusterUsers, calls func(control.API) http.Handler,
) (*Everywhere, error) {
	if err := os.MkdirAll(filepath.Join(d.State.Dir, env.ElsewhereFolder), 0o755); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", calls(nodeFace{d}))
	mux.HandleFunc("GET "+nodeActs, nodeFace{d}.serveActs)
	sayReplicas(d, mux)
	mux.HandleFunc("GET "+foundPath, sayFound(d.State, nodes.Me()))
	stop, err := nodes.Answer(mux)
	if err != nil {
		return nil, err
	}
	keep, err := nodes.Lend(d.Politeness)
	if err != nil {
		stop()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Everywhere{
		thisNode: d,
		here:     d,
		nodes:    nodes,
		ctx:      ctx,
		stop: func() {
			cancel()
			keep()
			stop()
		},
		calls:   mux,
		users:   users,
		waits:   doesWithin,
		gathers: make(chan struct{}, 1),
	}
	d.Texts.Gather = c.Gather
	return c, nil
}

// Close ends what Join began. Runs continue.
func (c *Everywhere) Close() { c.stop() }

// Own is the daemon of this node: health and metrics are those of each node.
func (c *Everywhere) Own() control.API { return c.here }

// nodeFace is what other nodes see of a daemon.
type nodeFace struct{ *daemon.Daemon }

// Status is a look that costs little: many nodes may ask.
func (f nodeFace) Status() status.All { return f.Glance() }

// Status is the state of this daemon and of the jobs of all nodes.
func (c *Everywhere) Status() status.All { return c.with(c.here.Status()) }

// Glance is Status without a look at each published file.
func (c *Everywhere) Glance() status.All { return c.with(c.here.Glance()) }

// Fronts is what front pages of mirror sites show, by name.
func (c *Everywhere) Fronts() []serve.Front { return serving.FrontsOf(c.Status(), c.Wanted()) }

// with adds the jobs of other nodes.
func (c *Everywhere) with(all status.All) status.All {
	wanted, me := c.Wanted(), c.nodes.Me()
	have := map[string]bool{}
	for i := range all.Jobs {
		all.Jobs[i].Node = me
		have[all.Jobs[i].Name] = true
	}
	for _, n := range c.ask() {
		all.Nodes = append(all.Nodes, n.NodeSaid)
		for _, j := range n.value {
			if have[j.Name] || wanted[j.Name] == nil {
				continue
			}
			have[j.Name] = true
			j.Node, j.AsOf = n.Name, n.AsOf
			if n.Away != "" {
				j.Problems = append(slices.Clone(j.Problems), awayText(n.NodeSaid))
			}
			all.Jobs = append(all.Jobs, j)
		}
	}
	for name, e := range wanted {
		if !have[name] {
			all.Jobs = append(all.Jobs, unheard(name, e))
		}
	}
	status.SortJobs(all.Jobs)
	return all
}

func awayText(m status.NodeSaid) string {
	return fmt.Sprintf("node %s, which has the job, does not answer: this is as of %s", m.Name,
		status.TimeText(m.AsOf.Local()))
}

// unheard is a job of which no node has said anything.
func unheard(name string, e *scheduler.Entry) status.Job {
	return status.Job{
		Name:     name,
		File:     e.Name + scheduler.Suffix,
		Health:   status.New,
		Activity: status.Waiting,
		Problems: []string{"no node that answers has the job: mirrord cluster status shows the nodes"},
	}
}

// ask returns what the other nodes say of their jobs.
func (c *Everywhere) ask() []heard[[]status.Job] {
	all := c.jobs.ask(c, time.Now(), func(node string) ([]status.Job, error) {
		ctx, cancel := context.WithTimeout(c.ctx, saysWithin)
		defer cancel()
		all, err := control.NewClientOver(c.nodes.To(node)).Status(ctx)
		return all.Jobs, err
	})
	for i := range all {
		all[i].Jobs = len(all[i].value)
	}
	return all
}

// elsewhere is what another node answers about a job that this one does not have. A job that no node has at
// this moment is waited for.
func elsewhere[T any](
	c *Everywhere, name string, most time.Duration, here func() (T, error),
	there func(context.Context, far) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeout(c.ctx, doesWithin)
	defer cancel()
	for end := time.Now().Add(most); ; {
		v, err := here()
		if !errors.Is(err, control.ErrNotFound) || c.Wanted()[name] == nil {
			return v, err
		}
		to, err := c.nodeOf(ctx, name)
		if err == nil {
			v, err = there(ctx, to)
			err = to.said(name, err)
		}
		if !errors.Is(err, errMoving) || time.Now().After(end) {
			return v, err
		}
		if timed.Wait(ctx, lookForIt) != nil {
			return v, err
		}
	}
}

// far is another node.
type far struct {
	*control.Client
	node string
}

// nodeOf returns the node that has a job.
func (c *Everywhere) nodeOf(ctx context.Context, name string) (far, error) {
	node, err := c.nodes.NodeOf(ctx, name)
	switch {
	case err != nil:
		return far{}, fmt.Errorf("job %s: which node has it is not known: %w", name, err)
	case node == "" || node == c.nodes.Me():
		return far{}, moving(name)
	}
	return far{control.NewClientOver(c.nodes.To(node)), node}, nil
}

// errMoving says that no node runs a job at this moment.
var errMoving = errors.New("it is on its way from one node to another, or no node has it: try again in a " +
	"minute; mirrord cluster status shows the nodes")

func moving(name string) error {
	return control.WithCode(fmt.Errorf("job %s: %w", name, errMoving), control.ErrConflict)
}

// said is the error of a node about a job.
func (f far) said(name string, err error) error {
	var says *control.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, control.ErrNotFound):
		return moving(name)
	case errors.As(err, &says):
		return err
	}
	return fmt.Errorf("job %s: node %s has it and does not answer; if it is gone for good, mirrord cluster "+
		"remove %s: %w", name, f.node, f.node, err)
}

// Job is the state of one job, with the report of its last run.
func (c *Everywhere) Job(name string) (status.Job, error) {
	return c.job(name, c.here.Job)
}

// Progress is Job without the report of the last run.
func (c *Everywhere) Progress(name string) (status.Job, error) {
	if j, ok := c.live.Load(name); ok {
		return *j.(*status.Job), nil
	}
	j, err := c.job(name, c.here.Progress)
	j.Summary = nil
	return j, err
}

func (c *Everywhere) job(name string, here func(string) (status.Job, error)) (status.Job, error) {
	return elsewhere(c, name, saysWithin, func() (status.Job, error) {
		j, err := here(name)
		j.Node = c.nodes.Me()
		return j, err
	}, func(ctx context.Context, to far) (status.Job, error) {
		now := time.Now()
		j, err := to.Job(ctx, name)
		j.Node, j.AsOf = to.node, &now
		return j, err
	})
}

// Runs is the reports of the last n runs of a job, newest first, without their summaries.
func (c *Everywhere) Runs(name string, n int) ([]status.Run, error) {
	return elsewhere(c, name, saysWithin,
		func() ([]status.Run, error) { return c.here.Runs(name, n) },
		func(ctx context.Context, to far) ([]status.Run, error) { return to.Runs(ctx, name, n) })
}

// nodeOrder does something with a job of another node.
type nodeOrder func(*control.Client, context.Context, string) (status.Job, error)

// order does something with a job.
func (c *Everywhere) order(name string, here func(string) error, there nodeOrder) error {
	_, err := elsewhere(c, name, c.waits,
		func() (status.Job, error) { return status.Job{}, here(name) },
		func(ctx context.Context, to far) (status.Job, error) { return there(to.Client, ctx, name) })
	return err
}

// Cancel ends the run of a job as partial.
func (c *Everywhere) Cancel(name string) error {
	return c.order(name, c.here.Cancel, (*control.Client).Cancel)
}

// Pause ends the run of a job and starts none until Resume.
func (c *Everywhere) Pause(name string) error {
	return c.pause(name, true, c.here.Pause, (*control.Client).Pause)
}

// Resume takes Pause back.
func (c *Everywhere) Resume(name string) error {
	return c.pause(name, false, c.here.Resume, (*control.Client).Resume)
}

// NotifyTest sends a test to everybody whom a job names, from the node that has it.
func (c *Everywhere) NotifyTest(ctx context.Context, name string) ([]control.Told, error) {
	return elsewhere(c, name, c.waits,
		func() ([]control.Told, error) { return c.here.NotifyTest(ctx, name) },
		func(_ context.Context, to far) ([]control.Told, error) { return to.NotifyTest(ctx, name) })
}

// begun is a run that was asked for.
type begun struct {
	run      control.Running
	attached bool
}

// Run starts a run of a job on the node that has it.
func (c *Everywhere) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	b, err := elsewhere(c, name, c.waits, func() (begun, error) {
		run, attached, err := c.here.Run(name, r)
		return begun{run, attached}, err
	}, func(_ context.Context, to far) (begun, error) { return c.runThere(to, name, r) })
	return b.run, b.attached, err
}

// runThere starts a run on another node and follows it.
func (c *Everywhere) runThere(to far, name string, r control.RunRequest) (begun, error) {
	r.Wait = true
	there := &farRun{done: make(chan struct{})}
	began := make(chan bool, 1) // whether it was under way
	var failed error
	go func() {
		defer close(there.done)
		defer c.live.Delete(name)
		run, err := to.Run(c.ctx, name, r, func(e control.Event) {
			if e.Attached != nil {
				began <- *e.Attached // once
			}
			if now := time.Now(); e.Job != nil {
				e.Job.Node, e.Job.AsOf = to.node, &now
				c.live.Store(name, e.Job)
			}
		})
		failed = err
		if there.err = to.said(name, err); run != nil {
			there.run = *run
		}
	}()
	select {
	case attached := <-began:
		return begun{there, attached}, nil
	case <-there.done:
	}
	select {
	case attached := <-began: // and it has ended already
		return begun{there, attached}, nil
	default:
		return begun{}, failed
	}
}

// farRun is a run on another node.
type farRun struct {
	done chan struct{}
	run  status.Run
	err  error
}

// Done implements control.Running.
func (r *farRun) Done() <-chan struct{} { return r.done }

// Result implements control.Running.
func (r *farRun) Result() (status.Run, error) { return r.run, r.err }
