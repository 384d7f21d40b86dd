// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"context"
	"reflect"

	"mirrord/app/env"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// Host is what operations act on.
type Host struct {
	Daemon control.API
	App    *env.App // nil: only what the daemon does can be done
	// Open makes a link that logs in to the console, once; who is the user at the other end of the socket. It
	// opens the console if it is not open yet. nil: there is no console.
	Open func(who string, r control.OpenRequest) (control.OpenLink, error)
}

// Act is a request for an operation.
type Act struct {
	Host
	Job string // its name; "" when the operation is not on a job
	Who string // asks for it
}

// deed is the function of an operation.
type deed struct {
	in  func() any // a new value for the arguments
	out reflect.Type
	do  func(ctx context.Context, a Act, in any) (any, error)
}

// does makes a deed of a function of an operation.
func does[In, Out any](f func(ctx context.Context, a Act, in *In) (Out, error)) *deed {
	return &deed{
		in:  func() any { return new(In) },
		out: reflect.TypeFor[Out](),
		do:  func(ctx context.Context, a Act, in any) (any, error) { return f(ctx, a, in.(*In)) },
	}
}

// In returns a new value for the arguments of an operation: a pointer to a struct. It is nil when the
// operation is done by hand.
func (o Operation) In() any {
	if o.run == nil {
		return nil
	}
	return o.run.in()
}

// Out is the type of the answer of an operation that is not done by hand.
func (o Operation) Out() reflect.Type { return o.run.out }

// Do does an operation with arguments of In.
func (o Operation) Do(ctx context.Context, a Act, in any) (any, error) { return o.run.do(ctx, a, in) }

// None are the arguments of an operation that takes none.
type None struct{}

// ofDaemon is the deed of what a daemon answers without arguments.
func ofDaemon[Out any](f func(control.API) (Out, error)) *deed {
	return does(func(_ context.Context, a Act, _ *None) (Out, error) { return f(a.Daemon) })
}

func showStatus(d control.API) (status.All, error) { return d.Status(), nil }

// onJob is the deed of an operation on a job without arguments. It answers with the job's state afterwards.
func onJob(f func(d control.API, name string) error) *deed {
	return does(func(_ context.Context, a Act, _ *None) (j status.Job, err error) {
		if err = f(a.Daemon, a.Job); err == nil {
			j, err = a.Daemon.Job(a.Job)
		}
		return j, err
	})
}

func showJob(_ context.Context, a Act, _ *None) (status.Job, error) { return a.Daemon.Job(a.Job) }

// RunsQuery asks for the last runs of a job.
type RunsQuery struct {
	N int `json:"n,omitempty" bounds:"1,1000,20"` // how many
}

func listRuns(_ context.Context, a Act, q *RunsQuery) ([]status.Run, error) {
	return a.Daemon.Runs(a.Job, q.N)
}

// begun is a run that was requested.
type begun struct {
	control.Running
	attached bool // it was under way, or requested, already
	request  *control.RunRequest
	progress func() (status.Job, error)
}

func run(_ context.Context, a Act, r *control.RunRequest) (*begun, error) {
	b := &begun{request: r, progress: func() (status.Job, error) { return a.Daemon.Progress(a.Job) }}
	var err error
	b.Running, b.attached, err = a.Daemon.Run(a.Job, *r)
	return b, err
}

func notifyTest(ctx context.Context, a Act, _ *None) ([]control.Told, error) {
	return a.Daemon.NotifyTest(ctx, a.Job)
}

// NamedPlace is a place that is said to have what a mirror has.
type NamedPlace struct {
	At string `json:"at"` // URL of the directory that stands for that of the job's url
}

func register(ctx context.Context, a Act, p *NamedPlace) (any, error) {
	return a.Daemon.Register(ctx, a.Job, p.At)
}

func gather(ctx context.Context, a Act, _ *None) (None, error) { return None{}, a.Daemon.Gather(ctx) }

func login(_ context.Context, a Act, r *control.OpenRequest) (control.OpenLink, error) {
	return a.Open(a.Who, *r)
}
