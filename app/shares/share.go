// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/cluster/depot"
	"mirrord/fetch"
	"mirrord/internal/timed"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/shared"
	"mirrord/store/travel"
)

// Peers is what a daemon asks that is one of several. *engine.Engine is one. Safe for concurrent use.
type Peers interface {
	// Acquire gives out the sites of the hosts that are this daemon's.
	home.Owner
	// Want sets the sites that the cluster runs, by name, with their main hosts; here are those that lie on this
	// machine; jobs is a digest of the job files.
	Want(sites map[string]string, here []string, jobs string)
	// Shared returns the hosts whose sites this daemon runs.
	Shared() map[string]bool
	// Changed receives when Shared may be another one.
	Changed() <-chan struct{}
	// Others is for the politeness of the daemon.
	fetch.Others
}

// NodeShare is the part of the jobs that a daemon of a cluster runs. nil is all of them. With a depot each
// site comes from there when it becomes this daemon's, and goes there after each run.
type NodeShare struct {
	Cluster Peers
	st      *store.State
	depot   Travels // nil: sites stay on the machine that has them
	log     *slog.Logger
	// fetches changes that other nodes have just received; nil: there are none
	Exchange func(context.Context) bool
	Whole    atomic.Pointer[scheduler.Config] // the jobs of all

	Came chan struct{} // size 1: one look is enough
	// size 1: receives after the jobs directory was read
	Loaded chan struct{}
	ends   context.Context
	end    context.CancelFunc
	moves  sync.WaitGroup
	room   chan struct{} // a place for each site that moves at a time

	mu      sync.Mutex
	here    map[string]bool // sites that have come, or need not
	coming  map[string]bool
	stuck   map[string]string // why mirrors do not come, or do not get to the depot
	leaving map[string]int    // runs that are not in the depot yet
	there   map[string]uint64 // the transaction of the site's database that the depot has
	reading map[string]bool   // sites that a Reader fetches; true: has waits for that
	going   map[string]bool   // sites that are being removed from the depot
}

// Travels is where sites lie between the runs of a cluster. *depot.Depot is one.
type Travels interface {
	Checkout(ctx context.Context, st *store.State, site string, o depot.Out) (*depot.CheckedOut, error)
	Checkin(ctx context.Context, st *store.State, site string, in bool) (*depot.CheckedIn, error)
	Strangers(st *store.State) (map[string]bool, error)
	Removals(st *store.State) ([]string, error)
	FinishRemoval(ctx context.Context, st *store.State, site string) (done bool, err error)
}

func NewShare(c Peers, st *store.State, d Travels, log *slog.Logger) (*NodeShare, error) {
	if d != nil {
		if _, err := d.Strangers(st); err != nil { // before this machine makes sites of its own
			return nil, err
		}
	}
	s := &NodeShare{
		Cluster: c,
		st:      st,
		depot:   d,
		log:     log,
		Came:    make(chan struct{}, 1),
		Loaded:  make(chan struct{}, 1),
		room:    make(chan struct{}, env.MovesAtOnce),
		here:    map[string]bool{},
		coming:  map[string]bool{},
		stuck:   map[string]string{},
		leaving: map[string]int{},
		there:   map[string]uint64{},
		reading: map[string]bool{},
		going:   map[string]bool{},
	}
	s.ends, s.end = context.WithCancel(context.Background())
	return s, nil
}

// All returns the jobs of all as they were last read; own are those of this daemon.
func (s *NodeShare) All(own scheduler.Config) scheduler.Config {
	if s == nil || s.Whole.Load() == nil {
		return own
	}
	return *s.Whole.Load()
}

// Of returns the jobs of a configuration that are this daemon's. A file that is refused is everybody's.
func (s *NodeShare) Of(all scheduler.Config) scheduler.Config {
	if s == nil {
		return all
	}
	s.Whole.Store(&all)
	Kick(s.Loaded)
	hosts := make(map[string]string, len(all))
	for name, e := range all {
		if e.Job != nil {
			hosts[name] = mainHost(e)
		}
	}
	here, err := s.st.Sites()
	if err != nil {
		here = nil // each run says so
	}
	s.Cluster.Want(hosts, here, digestOf(all))
	mine := s.Cluster.Shared()
	s.removeGone(func(name string) bool { return hosts[name] != "" && mine[hosts[name]] })
	out := scheduler.Config{}
	for name, e := range all {
		if s.changed(name) {
			s.Ran(name)
		}
		if e.Job == nil || s.has(name, mine[hosts[name]]) {
			out[name] = e
		}
	}
	return out
}

// changed reports whether a site here has changed since it was in the depot, and is not being copied there:
// a command or the console has changed it, or a daemon that was killed.
func (s *NodeShare) changed(name string) bool {
	s.mu.Lock()
	there, ok := s.there[name]
	ok = ok && s.here[name] && s.leaving[name] == 0
	s.mu.Unlock()
	if !ok {
		return false
	}
	tx, err := travel.LastTransaction(s.st.StateFolder, name)
	return err == nil && tx > 0 && tx != there // each run reports errors of the site
}

// same notes that the depot has a site as of a transaction of its database.
func (s *NodeShare) same(name string, tx uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there[name] = tx
}

// has reports whether a site is this daemon's and has come. One that has not is asked for.
func (s *NodeShare) has(name string, mine bool) bool {
	if s.depot == nil {
		return mine
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !mine {
		delete(s.here, name)
		delete(s.stuck, name)
		return false
	}
	if _, reads := s.reading[name]; reads {
		s.reading[name] = true
		return false
	}
	if !s.here[name] && !s.coming[name] {
		s.coming[name] = true
		s.moves.Go(func() { s.come(name) })
	}
	return s.here[name]
}

// Reads is Reader.Claim for the sites of other nodes.
func (s *NodeShare) Reads(name string) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[name] || s.coming[name] || s.leaving[name] > 0 {
		return nil, false
	}
	s.reading[name] = false
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reading[name] {
			Kick(s.Came)
		}
		delete(s.reading, name)
	}, true
}

// moveAgain is the pause after a site that could not be moved.
const moveAgain = 30 * time.Second

// come fetches a site from the depot.
func (s *NodeShare) come(name string) {
	err := s.move(name, func() error {
		if err := s.gone(name); err != nil { // else it would come back as it was
			return err
		}
		o := depot.Out{Ready: depots.MadeWhole, Removed: true}
		out, err := s.depot.Checkout(s.ends, s.st, name, o)
		lost, berr := s.lost(name, err)
		if berr != nil {
			return berr
		}
		if lost {
			s.log.Warn("what a run left here was not in the depot, and another machine went on: it is given up",
				"job", name)
			o.Discard = true
			out, err = s.depot.Checkout(s.ends, s.st, name, o)
		}
		if errors.Is(err, depot.ErrUnknown) {
			out, err = nil, nil // a first run, or a mirror that this machine adds
		}
		if err == nil {
			var tx uint64
			if out != nil && !out.Ahead {
				tx, err = travel.LastTransaction(s.st.StateFolder, name)
			}
			s.same(name, tx)
		}
		if err == nil && s.Exchange != nil {
			s.Exchange(s.ends) // it may have been paused a moment ago
		}
		return err
	})
	if err != nil && s.ends.Err() == nil {
		s.log.Error("a mirror does not come from the depot; its job waits", "job", name, "err", err)
		s.say(name, "its mirror does not come from the depot, and it waits", err)
		s.wait(moveAgain)
	} else {
		s.say(name, "", nil)
	}
	s.mu.Lock()
	delete(s.coming, name)
	s.here[name] = err == nil
	s.mu.Unlock()
	Kick(s.Came)
}

// say notes what keeps a mirror from the depot, or that nothing does.
func (s *NodeShare) say(name, what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.stuck, name); err != nil {
		s.stuck[name] = what + ": " + err.Error()
	}
}

// Problems adds to the jobs of this daemon what keeps their mirrors from the depot.
func (s *NodeShare) Problems(jobs []status.Job) []status.Job {
	if s == nil {
		return jobs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		if have[j.Name] = true; s.stuck[j.Name] != "" {
			j.Problems = append(slices.Clone(j.Problems), s.stuck[j.Name])
		}
	}
	for name, what := range s.stuck {
		if !have[name] { // the scheduler does not have it yet
			jobs = append(jobs, status.Job{
				Name:     name,
				File:     name + scheduler.Suffix,
				Health:   status.New,
				Activity: status.Waiting,
				Waits:    &status.Wait{For: status.ForDepot},
				Problems: []string{what},
			})
		}
	}
	status.SortJobs(jobs)
	return jobs
}

// Problem adds to what the scheduler says of one job what keeps its mirror from the depot. err, by which the
// scheduler does not have the job, is nil when that is so because its mirror does not come.
func (s *NodeShare) Problem(j status.Job, name string, err error) (status.Job, error) {
	var jobs []status.Job
	if err == nil {
		jobs = append(jobs, j)
	}
	for _, j := range s.Problems(jobs) {
		if j.Name == name {
			return j, nil
		}
	}
	return j, err
}

func Kick(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lost reports whether a site could not be checked out because this machine has changes that never got to
// the depot, and another one continued. A site that the machine had from elsewhere, and one of which the
// depot has an older state, do not count: a user has to decide which one to keep.
func (s *NodeShare) lost(name string, err error) (bool, error) {
	if !errors.Is(err, depot.ErrDiverged) || errors.Is(err, depot.ErrSetBack) {
		return false, nil
	}
	strangers, serr := s.depot.Strangers(s.st)
	return !strangers[name] || !errors.Is(err, depot.ErrStranger), serr
}

// afterRun is when the scheduler has noted how a run ended.
const afterRun = 300 * time.Millisecond

// Ran copies a site to the depot after a run. A pending copy of an earlier run includes this one.
func (s *NodeShare) Ran(name string) {
	if s == nil || s.depot == nil {
		return
	}
	if s.left(name, 1) > 1 {
		return
	}
	s.moves.Go(func() {
		for pause := afterRun; s.wait(pause); {
			runs := s.left(name, 0)
			err := s.move(name, func() error {
				tx, err := travel.LastTransaction(s.st.StateFolder, name)
				if err == nil {
					_, err = s.depot.Checkin(s.ends, s.st, name, false)
				}
				if err == nil {
					s.same(name, tx)
				}
				return err
			})
			switch {
			case err == nil, errors.Is(err, disk.ErrLocked): // the next run, or its present owner
				s.say(name, "", nil)
				if s.left(name, -runs) == 0 {
					return
				}
				pause = afterRun
				continue
			case errors.Is(err, depot.ErrDiverged), errors.Is(err, depot.ErrOldToken):
				s.log.Warn("another machine went on with a mirror: this run does not count", "job", name,
					"err", err)
				s.mu.Lock()
				delete(s.here, name)
				delete(s.leaving, name)
				s.mu.Unlock()
				Kick(s.Came)
				return
			}
			pause = moveAgain
			s.log.Error("a mirror does not get to the depot; tried again", "job", name, "err", err)
			s.say(name, "what was run here does not get to the depot", err)
		}
	})
}

// left counts the runs of a site that are not in the depot yet, and returns how many these are.
func (s *NodeShare) left(name string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[name] += n; s.leaving[name] == 0 {
		delete(s.leaving, name)
	}
	return s.leaving[name]
}

// goes sets whether a site is being removed from the depot, and returns whether it was.
func (s *NodeShare) goes(name string, now bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.going[name] = s.going[name], now
	return was
}

// move does something with a site that it holds meanwhile.
func (s *NodeShare) move(name string, do func() error) error {
	select {
	case s.room <- struct{}{}:
	case <-s.ends.Done():
		return s.ends.Err()
	}
	defer func() { <-s.room }()
	l, err := s.Cluster.Acquire(name)
	if err != nil {
		return err
	}
	return errors.Join(do(), l.Release())
}

// wait waits, and reports whether the daemon has not ended.
func (s *NodeShare) wait(d time.Duration) bool {
	return timed.Wait(s.ends, d) == nil
}

// Close waits for sites on their way, but not for longer than a time.
func (s *NodeShare) Close(within time.Duration) {
	if s == nil {
		return
	}
	defer time.AfterFunc(within, s.end).Stop()
	s.moves.Wait()
	s.end()
}

// mainHost is what the jobs of a cluster are shared out by: one machine makes the requests of all jobs of a
// registrable domain.
func mainHost(e *scheduler.Entry) string {
	seeds := e.Job.Seeds()
	if len(seeds) == 0 {
		return "job:" + e.Name
	}
	return seeds[0].RegistrableDomain()
}

// SharedRecords are the records of a daemon of a cluster: one of a job that another daemon runs now stays.
type SharedRecords struct {
	jobs.Records
	Share *NodeShare
}

// LoadRecords implements scheduler.Store.
func (r SharedRecords) LoadRecords() (map[string]scheduler.Record, error) {
	recs, err := r.Records.LoadRecords()
	if err == nil {
		heed(r.Share.st, recs, r.Log)
	}
	return recs, err
}

// SaveRecords implements scheduler.Store.
func (r SharedRecords) SaveRecords(recs map[string]*scheduler.Record) error {
	all := r.Share.Whole.Load()
	out := make(map[string]*scheduler.Record, len(recs))
	for name, rec := range recs {
		if rec == nil && (all == nil || (*all)[name] != nil) {
			continue
		}
		out[name] = rec
	}
	return errors.Join(r.Records.SaveRecords(out), forgetPauses(r.Share.st, out))
}

// digestOf is a digest of job files, in which machines with the same ones agree.
func digestOf(all scheduler.Config) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sum := sha256.Sum256(all[name].Text)
		fmt.Fprintf(h, "%q %x\n", name, sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Acts are the last entries of audit logs, newest first.
type Acts struct {
	Entries []shared.AuditEntry
	Away    []status.NodeSaid // nodes whose entries are missing, because they do not answer
}

// Facts are values that the nodes of a cluster share. *engine.Facts has them. Safe for concurrent use.
type Facts interface {
	shared.KeyValues
	// Get returns one value; nil: no such value.
	Get(ctx context.Context, kind, key string) ([]byte, error)
	// Watch calls changed, which must not wait, at first and after each change of some kinds, until ctx ends.
	Watch(ctx context.Context, changed func(), kinds ...string)
}
