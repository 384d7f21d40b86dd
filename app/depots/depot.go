// SPDX-License-Identifier: Apache-2.0

package depots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/job"
	"mirrord/mirror/finish"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/shared"
)

// DepotRequest says what to copy to a depot, or from it.
type DepotRequest struct {
	Depot string   // its address, see objects.Open
	Jobs  []string // none: all, with the job files and what else belongs to no site
	Again bool     // Push: the depot's content is replaced
	// Discard makes Pull replace what has changed here since it was last in the depot.
	Discard bool
	// Keepers reaches those of the cluster, if the depot has its pointers there; nil: nothing does.
	Keepers Keepers
}

// Pushed is what Push did.
type Pushed struct {
	Depot    string            `json:"depot"`
	Cluster  string            `json:"cluster"`
	Sites    []PushedSite      `json:"sites"`
	Shared   *depot.CheckedIn  `json:"shared,omitempty"`  // job files, mirror.db and the like
	Problem  string            `json:"problem,omitempty"` // why these were not copied
	Requests objects.Requested `json:"requests"`
}

// PushedSite is one of the sites of Push.
type PushedSite struct {
	*depot.CheckedIn
	Job     string `json:"job"`
	Problem string `json:"problem,omitempty"` // why it was not copied
}

// Pulled is what Pull did.
type Pulled struct {
	Depot    string                  `json:"depot"`
	Cluster  string                  `json:"cluster"`
	Sites    []PulledSite            `json:"sites"`
	Shared   *depot.CheckedOutShared `json:"shared,omitempty"`
	Requests objects.Requested       `json:"requests"`
}

// PulledSite is one of the sites of Pull.
type PulledSite struct {
	*depot.CheckedOut
	Job     string `json:"job"`
	Problem string `json:"problem,omitempty"`
}

// Keepers reaches the keepers of a cluster, and returns what nodes share there; nil when it is not said where
// they are. done, which is never nil, ends that.
type Keepers func(ctx context.Context) (shared shared.KeyValues, done func(), err error)

// openDepot opens a depot. One that is to be written is tested, and made if it does not exist; a node of a
// cluster can do without what the store lacks.
func openDepot(
	ctx context.Context, a *env.App, address string, write, node bool,
) (*depot.Depot, *objects.Retry, error) {
	if address == "" {
		return nil, nil, env.Usagef("name the depot: s3://BUCKET/PREFIX or file:///DIR")
	}
	made, err := objects.Open(address, a.LookupEnv)
	if err != nil {
		return nil, nil, env.Usagef("%w", err)
	}
	r := &objects.Retry{Store: made}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	o := depot.Options{
		Store:   r,
		Machine: machine,
		Note:    a.Progress,
		Now:     a.Clock,
		Address: address,
	}
	d, err := depot.Open(ctx, o)
	if lacking := errors.Is(err, depot.ErrNoDepot); write && (lacking || (err == nil && !d.AtKeepers())) {
		cannot := objects.CheckConditions(ctx, r, "")
		if cannot != nil && !(lacking && node && errors.Is(cannot, objects.ErrLacks)) {
			return nil, nil, cannot
		}
		if lacking {
			o.Create, o.CreateKept = true, cannot != nil
			d, err = depot.Open(ctx, o)
		}
	}
	return d, r, err
}

// reach opens a depot, whose pointers may lie with the keepers of a cluster. done is called in the end, also
// after an error.
func reach(
	ctx context.Context, a *env.App, address string, keepers Keepers, write bool,
) (d *depot.Depot, counted *objects.Retry, done func(), err error) {
	done = func() {}
	d, counted, err = openDepot(ctx, a, address, write, false)
	if err != nil || !d.AtKeepers() || keepers == nil {
		return d, counted, done, err
	}
	shared, done, err := keepers(ctx)
	if err == nil && shared != nil {
		d.Keep(shared)
	}
	return d, counted, done, err
}

// validJobs are names of jobs, also of their files.
func validJobs(names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		if out[i] = strings.TrimSuffix(name, scheduler.Suffix); !job.ValidName(out[i]) {
			return nil, env.NotAName(name)
		}
	}
	return out, nil
}

// Push copies mirrors to a depot, each as of its last commit; only new data is sent. Failures of single
// mirrors are in the report, and the error says so without a text.
func Push(ctx context.Context, a *env.App, r DepotRequest) (*Pushed, error) {
	names, err := validJobs(r.Jobs)
	if err != nil {
		return nil, err
	}
	st, err := a.MustWriteState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	d, counted, done, err := reach(ctx, a, r.Depot, r.Keepers, true)
	defer done()
	if err != nil {
		return nil, err
	}
	out := &Pushed{Depot: counted.String(), Cluster: d.Cluster, Sites: []PushedSite{}}
	if len(names) == 0 {
		if names, err = st.Sites(); err != nil {
			return nil, err
		}
	}
	var failed failures
	for _, name := range names {
		s := PushedSite{Job: name}
		if s.CheckedIn, err = d.Checkin(ctx, st, name, r.Again); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			if errors.Is(err, home.ErrNoSite) {
				err = cmp.Or(env.KnownJob(a, name), err)
			}
			s.Problem = failed.add(err)
		}
		out.Sites = append(out.Sites, s)
	}
	if len(r.Jobs) == 0 {
		if out.Shared, err = d.CheckinShared(ctx, st, foldersOf(a), r.Again); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			out.Problem = failed.add(err)
		}
	}
	out.Requests = counted.Counted
	return out, failed.err()
}

// failures gathers what went wrong with single sites.
type failures struct{ bad, unknown, locked bool }

// add notes an error and returns its text.
func (f *failures) add(err error) string {
	known, ok := errors.AsType[*env.Error](err)
	switch {
	case errors.Is(err, disk.ErrLocked):
		f.locked = true
	case ok && known.Kind == env.Usage:
		f.unknown = true
	default:
		f.bad = true
	}
	return env.Remedied(err)
}

// err is the error of a report that has texts already.
func (f *failures) err() error {
	switch {
	case f.bad:
		return &env.Error{}
	case f.unknown:
		return &env.Error{Kind: env.Usage}
	case f.locked:
		return &env.Error{Kind: env.Locked}
	}
	return nil
}

// Pull copies mirrors from a depot, as they were last pushed; only missing data is fetched. The
// published trees are made again from the stored documents. What goes wrong with one mirror is in the report,
// and the error says so without a text.
func Pull(ctx context.Context, a *env.App, r DepotRequest) (*Pulled, error) {
	names, err := validJobs(r.Jobs)
	if err != nil {
		return nil, err
	}
	d, counted, done, err := reach(ctx, a, r.Depot, r.Keepers, false)
	defer done()
	if err != nil {
		return nil, err
	}
	out := &Pulled{Depot: counted.String(), Cluster: d.Cluster, Sites: []PulledSite{}}
	dir, err := a.State()
	if err != nil {
		return nil, err
	}
	own := func() error { return cmp.Or(a.ActAsOwner(dir), os.MkdirAll(dir, 0o755)) }
	if len(names) == 0 { // job files belong to who may write there
		out.Shared, err = d.CheckoutShared(ctx, dir, foldersOf(a), r.Discard, own)
		if err != nil && !errors.Is(err, depot.ErrUnknown) {
			return nil, err
		}
		all, err := d.Marks(ctx)
		if err != nil {
			return nil, err
		}
		names = slices.Sorted(maps.Keys(all))
	}
	if err := own(); err != nil {
		return nil, err
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var failed failures
	for _, name := range names {
		if _, err := depot.Look(ctx, d, name); len(r.Jobs) == 0 && errors.Is(err, depot.ErrRemoved) {
			continue // the local mirror stays
		}
		s := pullSite(ctx, st, d, name, r.Discard, &failed)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out.Sites = append(out.Sites, s)
	}
	out.Requests = counted.Counted
	return out, failed.err()
}

// MadeWhole makes the published tree of a site that has arrived.
func MadeWhole(ctx context.Context, st *store.State, aside string) (err error) {
	s, err := st.OpenSite(aside)
	if err != nil {
		return err
	}
	defer env.Close(&err, s)
	m, err := finish.Site(ctx, st, s, false)
	if err == nil {
		err = m.Tree
	}
	return err
}

// OpenDepot opens a depot for a daemon, and tests it first. Check-outs leave there what only older versions
// need, if onDemand says so.
func OpenDepot(ctx context.Context, a *env.App, address string, onDemand bool) (*depot.Depot, error) {
	d, _, err := openDepot(ctx, a, address, true, true)
	if err == nil {
		d.OnDemand = onDemand
	}
	return d, err
}

// ReadDepot opens a depot for reading only. onDemand is that of OpenDepot.
func ReadDepot(ctx context.Context, a *env.App, address string, onDemand bool) (*depot.Depot, error) {
	d, _, err := openDepot(ctx, a, address, false, false)
	if err == nil {
		d.OnDemand = onDemand
	}
	return d, err
}

// pullSite copies one mirror.
func pullSite(
	ctx context.Context, st *store.State, d *depot.Depot, name string, discard bool, failed *failures,
) PulledSite {
	out := PulledSite{Job: name}
	made, err := d.Checkout(ctx, st, name, depot.Out{
		Discard: discard,
		Ready:   MadeWhole,
	})
	if errors.Is(err, depot.ErrUnknown) && !errors.Is(err, depot.ErrRemoved) {
		err = env.Usagef("%w", err)
	}
	if out.CheckedOut = made; err != nil {
		out.Problem = failed.add(err)
	}
	return out
}

// InDepot is what a depot has.
type InDepot struct {
	Depot   string            `json:"depot"`
	Cluster string            `json:"cluster"`
	Sites   []depot.Pointer   `json:"sites"`
	Checked *depot.DepotCheck `json:"checked,omitempty"`
}

// LookAtDepot lists what a depot has. check reads all of it. Some of it may come with an error.
func LookAtDepot(ctx context.Context, a *env.App, address string, check bool) (*InDepot, error) {
	d, counted, err := openDepot(ctx, a, address, false, false)
	if err != nil {
		return nil, err
	}
	out := &InDepot{Depot: counted.String(), Cluster: d.Cluster}
	if out.Sites, err = d.Sites(ctx); err != nil && !errors.Is(err, depot.ErrDamaged) {
		return nil, err
	}
	out.Sites = slices.DeleteFunc(out.Sites, func(p depot.Pointer) bool { return p.Site == depot.SharedName })
	if !check {
		return out, err
	}
	if out.Checked, err = d.Check(ctx); err != nil {
		return nil, err
	}
	if len(out.Checked.Problems) > 0 {
		return out, &env.Error{}
	}
	return out, nil
}

// CollectDepot removes from a depot what nothing refers to.
func CollectDepot(
	ctx context.Context, a *env.App, address string, keepers Keepers, dry bool,
) (*depot.DepotCollection, error) {
	d, _, done, err := reach(ctx, a, address, keepers, false)
	defer done()
	if err != nil {
		return nil, err
	}
	c, err := d.Collect(ctx, dry)
	if errors.Is(err, depot.ErrTooSoon) {
		return nil, &env.Error{Kind: env.Locked, Err: fmt.Errorf("%s: %w", address, err)}
	}
	return c, err
}

// foldersOf are the folders of job files and profiles.
func foldersOf(a *env.App) depot.Folders {
	return depot.Folders{Jobs: a.JobDirs(), Profiles: scheduler.ProfilesDir(a.Jobs)}
}
