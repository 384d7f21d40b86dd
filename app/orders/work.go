// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/scheduler/status"
)

// The parts of an order's folder.
const (
	stateDir = "state" // while it runs
	filesDir = "files" // its archives
)

// How long things take and stay.
const (
	every    = time.Minute         // between two looks at the clock
	retry    = 10 * time.Minute    // after a run that ended early
	tries    = 3                   // runs of one order
	draftFor = 24 * time.Hour      // a draft stays
	toldFor  = 90 * 24 * time.Hour // an order that has ended is shown
	looks    = 2                   // previews at a time
	tellGap  = 500 * time.Millisecond
	noteGap  = 20 * time.Second // between two notes of how many requests a run has made
)

// Run works until ctx ends, and then waits for work in progress. Interrupted orders continue after the next
// start, or on another node.
func (s *Orders) Run(ctx context.Context) {
	defer s.group.Wait()
	s.group.Go(func() { s.o.Facts.Watch(ctx, s.hear) })
	if s.o.Cluster != nil {
		s.group.Go(func() { follow(ctx, s.o.Cluster, s.board) })
	}
	for {
		s.expire(ctx)
		again := s.begin(ctx)
		s.tellTwins(ctx)
		s.upload(ctx)
		t := time.NewTimer(again)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-s.wake:
			t.Stop()
		}
	}
}

// begin starts what this node is to do, and returns when to look again.
func (s *Orders) begin(ctx context.Context) (again time.Duration) {
	var held []Claim
	s.read(func(all queue, _ *terms) {
		for k, x := range all {
			if _, ours := s.active[k]; x.underWay() && x.Claim.Session != "" && !ours {
				held = append(held, x.Claim)
			}
		}
	})
	if s.o.Cluster != nil {
		s.claims.look(ctx, held)
		if s.o.Cluster.Drained() {
			return every
		}
	}
	for {
		x, wait := s.next()
		if x == nil || ctx.Err() != nil {
			return wait
		}
		if err := s.start(ctx, x); err != nil {
			s.o.Log.Log(ctx, levelOf(err), "an order does not begin here", "order", x.Ref(), "err", err)
			return min(wait, s.o.Patience)
		}
	}
}

// levelOf distinguishes usual conflicts among nodes from errors that an operator should see.
func levelOf(err error) slog.Level {
	if errors.Is(err, errTaken) || errors.Is(err, errNoSession) || errors.Is(err, ErrNone) {
		return slog.LevelDebug
	}
	return slog.LevelError
}

// next is the order that this node is to begin now; nil: none now, but there may be one after wait.
func (s *Orders) next() (next *Ordered, wait time.Duration) {
	looking, running := s.busy()
	now, at := s.o.Now(), time.Now()
	wait = every
	free := map[OrderID]bool{}
	s.read(func(all queue, _ *terms) {
		for _, k := range slices.SortedFunc(maps.Keys(all), compareIDs) {
			x := all[k]
			_, ours := s.active[k]
			look := x.State == Looking
			waits := x.State == Runs || (x.State == Waits && x.Same == 0 && !x.Want.Start.After(now))
			if ours || (!look && !waits) {
				continue
			}
			if x.underWay() && !s.claims.isFree(x, at) {
				if _, over := s.claims.over[x.Claim]; over || s.claims.unsure {
					wait = min(wait, stale, s.o.Patience)
				}
				continue
			}
			free[k] = true
			if (look && looking >= looks) || (waits && running >= s.o.Workers) {
				continue
			}
			if mine := s.claims.wait(x, at); mine > 0 {
				wait = min(wait, mine)
				continue
			}
			first := next == nil || (look && next.State != Looking) ||
				(!look && next.State != Looking && x.before(next))
			if first {
				next = x
			}
		}
	})
	s.claims.keep(free)
	return next, wait
}

// start begins to work on an order, unless another node was first.
func (s *Orders) start(ctx context.Context, x *Ordered) error {
	claim, ok := s.claims.claim(x.Claim)
	if !ok {
		return errNoSession
	}
	o := *x
	if s.o.Cluster != nil || x.State != Looking {
		var err error
		o, err = s.update(x.OrderID, func(y *Ordered) error {
			switch {
			case y.Claim != x.Claim || y.State != x.State:
				return errTaken
			case y.Stop:
				y.State, y.Ended, y.Stop = Cancelled, s.o.Now(), false
			case y.State != Looking:
				y.State, y.Started = Runs, s.o.Now()
			}
			y.Claim = claim
			return nil
		})
		if err != nil || o.State == Cancelled {
			return err
		}
	}
	do := s.run
	if o.State == Looking {
		do = s.look
	}
	work, end := context.WithCancelCause(ctx)
	ended := s.begins(o.OrderID, o.Claim, end)
	if !s.holds(o.Claim) { // the session ended before it could be told
		end(errLost)
	}
	s.group.Go(func() {
		defer ended()
		defer end(nil)
		do(work, o)
	})
	return nil
}

// holds reports whether a claim of this process counts.
func (s *Orders) holds(c Claim) bool { return s.o.Cluster == nil || s.o.Cluster.Session() == c.Session }

// change changes an order that this process works on, or had worked on at last, and keeps it. While keepers
// do not answer it tries again, as long as the claim counts: else what a run came to would be lost.
func (s *Orders) change(o Ordered, f func(x *Ordered)) Ordered {
	for {
		x, err := s.update(o.OrderID, func(x *Ordered) error {
			if x.Claim.Token != o.Claim.Token || x.Claim.Node != o.Claim.Node {
				return errTaken
			}
			f(x)
			return nil
		})
		if err == nil {
			return x
		}
		s.o.Log.Log(context.Background(), levelOf(err), "an order is not kept", "order", o.Ref(), "err", err)
		if !errors.Is(err, ErrKeepers) || !s.holds(o.Claim) {
			return o
		}
		time.Sleep(s.o.Patience)
	}
}

// run makes the run of an order, and its archives.
func (s *Orders) run(ctx context.Context, o Ordered) {
	dir, err := s.folder(o.OrderID)
	if err != nil {
		s.fail(o, err)
		return
	}
	state := filepath.Join(dir, stateDir)
	if err := os.MkdirAll(state, 0o700); err != nil {
		s.fail(o, err)
		return
	}
	a := *s.app
	a.State = func() (string, error) { return state, nil }
	j, err := o.Want.runJob()
	if err != nil {
		s.fail(o, err)
		return
	}
	if s.o.Silence > 0 {
		j.Polite.HeaderTimeout = s.o.Silence
	}
	work, end := context.WithCancelCause(ctx)
	defer end(nil)
	var notes sync.WaitGroup
	sum, err := runs.Get(work, &a, runs.GetRequest{Job: j, Keep: true, Progress: s.watch(o, end, &notes)})
	notes.Wait()
	why := context.Cause(work)
	switch {
	case errors.Is(why, errCancelled):
		s.cancelled(o)
		return
	case why != nil && !errors.Is(why, errRequests):
		return // the daemon or its session ends; the run continues after its next start, or elsewhere
	}
	if sum != nil {
		o.Result = resultOf(sum, o.Result)
	}
	if sum == nil || sum.Version == 0 {
		s.unpublished(o, sum, cmp.Or(why, err))
		return
	}
	err = s.pack(ctx, &a, &o, j.Name)
	switch why := context.Cause(ctx); {
	case errors.Is(why, errCancelled):
		s.cancelled(o)
	case err != nil && why != nil: // as above
	case err != nil:
		s.fail(o, err)
	default:
		s.finish(ctx, o)
	}
}

// cancelled ends an order of which nothing stays.
func (s *Orders) cancelled(o Ordered) {
	s.drop(o.OrderID, filesDir, stateDir)
	s.change(o, func(x *Ordered) { x.State, x.Ended, x.Stop = Cancelled, s.o.Now(), false })
}

// watch records the progress of a run, and ends it when the orders of its user have made as many requests
// as they may, also those that run beside it. Its records of that may be written until notes is done.
func (s *Orders) watch(o Ordered, end context.CancelCauseFunc, notes *sync.WaitGroup) func(status.Progress) {
	var told, noted time.Time
	most := s.mayRequest(&o)
	return func(p status.Progress) {
		tell := time.Since(told) >= tellGap
		if tell {
			told, most = time.Now(), s.mayRequest(&o)
		}
		if p.Requests >= most {
			end(errRequests)
		}
		if time.Since(noted) >= noteGap {
			noted = time.Now()
			notes.Go(func() { s.noteRequests(o, p.Requests) })
		}
		s.progress(o.OrderID, &p, tell)
	}
}

// mayRequest is how many requests the run under way of an order may make, beside the order's earlier runs.
func (s *Orders) mayRequest(o *Ordered) (most int64) {
	if o.Free {
		return math.MaxInt64
	}
	now := s.o.Now()
	s.read(func(all queue, t *terms) {
		most = t.left(o.By, all, t.unseen(all, OrderID{}, now), now).Requests
		if x := all[o.OrderID]; x != nil {
			most += x.Result.Requests - o.Result.Requests // noted of this run
		}
	})
	return most
}

// noteRequests keeps how many requests a run has made, so that those beside it, also on other nodes, and
// those after a failure count them.
func (s *Orders) noteRequests(o Ordered, made int64) {
	_, err := s.update(o.OrderID, func(x *Ordered) error {
		if x.State != Runs || x.Claim != o.Claim {
			return errTaken
		}
		x.Result.Requests = max(x.Result.Requests, o.Result.Requests+made)
		return nil
	})
	if err != nil && !errors.Is(err, errTaken) {
		s.o.Log.Debug("the requests of an order are not kept", "order", o.Ref(), "err", err)
	}
}

// resultOf adds a run to what an order has come to.
func resultOf(sum *mirror.Summary, before Result) Result {
	return Result{
		Verdict:  sum.Verdict.String(),
		Reasons:  sum.Reasons,
		Files:    sum.Files,
		Bytes:    sum.Size,
		Gaps:     sum.Gaps.Count,
		Requests: before.Requests + sum.Requests,
		Received: before.Received + sum.Wire,
	}
}

// unpublished decides what follows a run that has nothing to show: another one, or the end.
func (s *Orders) unpublished(o Ordered, sum *mirror.Summary, why error) {
	again := sum != nil && sum.Verdict == mirror.Partial && o.Tries+1 < tries && !errors.Is(why, errRequests)
	if usage, is := errors.AsType[*env.Error](why); is && usage.Whole { // another run would meet the same
		again = false
	}
	if !again {
		s.fail(s.change(o, func(x *Ordered) { x.Result = o.Result }), why)
		return
	}
	s.change(o, func(x *Ordered) {
		x.State, x.Result, x.Claim.Session = Waits, o.Result, ""
		x.Tries++
		x.Want.Start = s.o.Now().Add(retry)
		if sum.WaitUntil.After(x.Want.Start) {
			x.Want.Start = sum.WaitUntil
		}
		x.Why = "the run ended early and continues later: " + strings.Join(sum.Reasons, "; ")
	})
}

// fail ends an order without archives.
func (s *Orders) fail(o Ordered, why error) {
	s.drop(o.OrderID, filesDir, stateDir)
	dir, _ := s.folder(o.OrderID)
	o = s.change(o, func(x *Ordered) {
		x.State, x.Ended = Failed, s.o.Now()
		x.Why = strings.Join(x.Result.Reasons, "; ")
		if why != nil && (x.Why == "" || why.Error() != env.Suspicious.String()) {
			x.Why = strings.ReplaceAll(env.Remedied(why), filepath.Dir(dir), "…")
		}
	})
	if o.State != Failed {
		return
	}
	s.o.Log.Warn("an order failed", "order", o.Ref(), "user", o.By, "err", o.Why)
	s.mail(context.Background(), o)
}

// pack makes the archives.
func (s *Orders) pack(ctx context.Context, a *env.App, o *Ordered, name string) error {
	dir, err := s.folder(o.OrderID)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filesDir), 0o700)
	}
	if err != nil {
		return err
	}
	for _, form := range o.Want.Forms {
		file := name + "." + form
		out := filepath.Join(dir, filesDir, file)
		if _, err := archives.Export(ctx, a, archives.ExportRequest{Job: name, Out: out,
			Format: form}); err != nil {
			return err
		}
		fi, err := os.Stat(out)
		if err != nil {
			return err
		}
		o.Result.Archives = append(o.Result.Archives, ArchiveFile{Form: form, Name: file, Bytes: fi.Size()})
	}
	return nil
}

// finish ends an order whose archives are there.
func (s *Orders) finish(ctx context.Context, o Ordered) {
	keeps := s.keeps()
	x := s.change(o, func(x *Ordered) {
		if x.Stop {
			return // it was cancelled at the last moment
		}
		now := s.o.Now()
		x.State, x.Result, x.Ended, x.Why = Done, o.Result, now, ""
		x.Expires, x.Held = now.Add(keeps), s.node
	})
	switch {
	case x.Stop:
		s.cancelled(o)
		return
	case x.State != Done: // another node works on it, or it is not known whether it was kept
		return
	}
	s.drop(o.OrderID, stateDir)
	if o.Want.Fresh != "" {
		if err := s.KeepFresh(o.OrderID, o.Free, o.Want.Fresh, o.Want.Window); err != nil {
			s.change(o, func(x *Ordered) { x.Keep = Keeping{State: Failed, Why: env.Remedied(err)} })
		}
	}
	s.mail(ctx, x)
}

// tellTwins sends the mail of orders whose archives another order made.
func (s *Orders) tellTwins(ctx context.Context) {
	for _, y := range s.List(User{Operator: true}) {
		if y.Same == 0 || y.Mailed != "" || y.Want.Mail == "" || (y.State != Done && y.State != Failed) ||
			s.claims.rank(&y) > 0 {
			continue
		}
		_, err := s.update(y.OrderID, func(x *Ordered) error {
			if x.Mailed != "" {
				return errTaken
			}
			x.Mailed = "being sent to " + x.Want.Mail
			return nil
		})
		if err == nil {
			s.group.Go(func() { s.mail(ctx, y) })
		}
	}
}

// mail notifies the user how an order ended.
func (s *Orders) mail(ctx context.Context, o Ordered) {
	if o.Want.Mail == "" || s.o.Mail == nil {
		return
	}
	subject, text := o.message()
	went := "sent to " + o.Want.Mail
	if err := s.o.Mail(ctx, o.Want.Mail, subject, text); err != nil {
		went = fmt.Sprintf("not sent to %s: %v", o.Want.Mail, err)
		s.o.Log.Error("mail of an order was not sent", "order", o.Ref(), "err", err)
	}
	_, err := s.update(o.OrderID, func(x *Ordered) error {
		x.Mailed = went
		return nil
	})
	if err != nil {
		s.o.Log.Error("how mail of an order went is not kept", "order", o.Ref(), "err", err)
	}
}

// message is the mail of an order that has ended.
func (o *Ordered) message() (subject, text string) {
	subject = fmt.Sprintf("order %s: the mirror of %s is ready", o.Ref(), o.Want.URL)
	if o.State == Failed {
		subject = fmt.Sprintf("order %s: the mirror of %s failed", o.Ref(), o.Want.URL)
		return subject, fmt.Sprintf("%s\n\n%s/orders/%s\n", o.Why, o.Base, o.Path())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %s.\n", o.Want.URL, count.Of(o.Result.Files, "file"),
		mirror.Bytes(o.Result.Bytes),
		o.Result.Verdict)
	for _, why := range o.Result.Reasons {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	fmt.Fprintf(&b, "\nDownload it until %s, after a login:\n\n  %s/orders/%s\n\n",
		o.Expires.UTC().Format("2006-01-02 15:04 UTC"), o.Base, o.Path())
	for _, a := range o.Result.Archives {
		fmt.Fprintf(&b, "  %s, %s\n", a.Name, mirror.Bytes(a.Bytes))
	}
	return subject, b.String()
}
