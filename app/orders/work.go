// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app"
	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/site"
	"mirrord/status"
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
)

// Run works until ctx ends, and then waits for what is under way. What that leaves goes on after the next
// start.
func (s *Orders) Run(ctx context.Context) {
	defer s.group.Wait()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		s.expire()
		for s.begin(ctx) {
		}
		s.tellTwins(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-s.wake:
		}
	}
}

// begin starts what is next, and reports whether there was something.
func (s *Orders) begin(ctx context.Context) bool {
	defer s.held()()
	if ctx.Err() != nil {
		return false
	}
	now := s.o.Now()
	var next *Ordered
	looking, running := 0, 0
	for n := range s.active {
		if s.all[n].State == Looking {
			looking++
		} else {
			running++
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.all)) {
		x := s.all[n]
		switch {
		case s.active[n] != nil:
		case x.State == Looking && looking < looks:
			next = x
		case x.State == Waits && x.Same == 0 && running < s.o.Workers && !x.Want.Start.After(now):
			if next == nil || (next.State == Waits && x.before(next)) {
				next = x
			}
		}
		if next != nil && next.State == Looking {
			break
		}
	}
	if next == nil {
		return false
	}
	work, end := context.WithCancelCause(ctx)
	s.active[next.Number] = end
	do := s.look
	if next.State == Waits {
		do = s.run
		next.State, next.Started = Runs, now
		if err := s.save(next); err != nil {
			s.o.Log.Error("an order is not kept", "order", next.Number, "err", err)
		}
	}
	n, x := next.Number, *next
	s.group.Go(func() {
		defer end(nil)
		do(work, x)
		defer s.held()()
		delete(s.active, n)
		s.tell()
	})
	return true
}

// change changes an order and keeps it.
func (s *Orders) change(n uint64, f func(x *Ordered)) {
	defer s.held()()
	x := s.all[n]
	f(x)
	if err := s.save(x); err != nil {
		s.o.Log.Error("an order is not kept", "order", n, "err", err)
	}
}

// look makes the preview of a draft.
func (s *Orders) look(ctx context.Context, o Ordered) {
	j, err := o.Want.runJob()
	var p *app.Preview
	for i := 0; err == nil; i++ {
		if p, err = app.PreviewRun(ctx, s.app, j); err != nil || !near(o.Want.URL, p.Leads) || i == mostNear {
			break
		}
		o.Want.URL = p.Leads // as the run would follow it
		j, err = o.Want.runJob()
	}
	if ended := context.Cause(ctx); ended != nil && !errors.Is(ended, errCancelled) {
		return // the daemon ends; it is looked at again
	}
	s.change(o.Number, func(x *Ordered) {
		switch {
		case errors.Is(context.Cause(ctx), errCancelled):
			x.State, x.Ended = Cancelled, s.o.Now()
		case err != nil:
			x.State, x.Why, x.Ended = Failed, app.Remedied(err), s.o.Now()
		default:
			x.State, x.Look, x.Why = Draft, p, problem(p)
			x.Leads, x.Want.URL = p.Leads, o.Want.URL
		}
	})
}

// problem is what a user reads about a preview that found nothing to mirror. What only an operator can do
// about it is left out.
func problem(p *app.Preview) string {
	answered := slices.ContainsFunc(p.Requests, func(l app.PreviewLook) bool { return l.Status > 0 })
	switch {
	case strings.Contains(p.Problem, fetch.ErrForbiddenAddress.Error()):
		p.Robots = "not requested"
		return "the entry point " + p.URL + " is in a network that nobody can order from"
	case p.Problem != "" && !answered && strings.HasPrefix(p.URL, "https://"):
		return p.Problem + "; if the site has no https, order it with http:// before its name"
	}
	return p.Problem
}

// mostNear is how often an address is followed: to https, to www. and to a page there.
const mostNear = 3

// near reports whether an address leads to the same site under another scheme or a near name.
func near(from, to string) bool {
	u, _, err := site.Parse(from)
	v, _, terr := site.Parse(to)
	return err == nil && terr == nil && u.RegistrableDomain() == v.RegistrableDomain()
}

// run makes the run of an order, and its archives.
func (s *Orders) run(ctx context.Context, o Ordered) {
	dir, err := s.folder(o.Number)
	if err != nil {
		s.fail(o.Number, err)
		return
	}
	state := filepath.Join(dir, stateDir)
	if err := os.MkdirAll(state, 0o700); err != nil {
		s.fail(o.Number, err)
		return
	}
	a := *s.app
	a.State = func() (string, error) { return state, nil }
	j, err := o.Want.runJob()
	if err != nil {
		s.fail(o.Number, err)
		return
	}
	if s.o.Silence > 0 {
		j.Polite.HeaderTimeout = s.o.Silence
	}
	most := s.Left(o.By).Requests
	if o.Free {
		most = 1 << 40
	}
	work, end := context.WithCancelCause(ctx)
	defer end(nil)
	sum, err := app.Get(work, &a, app.GetRequest{Job: j, Keep: true, Progress: s.watch(o.Number, most, end)})
	why := context.Cause(work)
	switch {
	case errors.Is(why, errCancelled):
		s.cancelled(o.Number)
		return
	case why != nil && !errors.Is(why, errRequests):
		return // the daemon ends; the run goes on after its next start
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
		s.cancelled(o.Number)
	case err != nil && why != nil: // the daemon ends; it goes on after its next start
	case err != nil:
		s.fail(o.Number, err)
	default:
		s.finish(ctx, o)
	}
}

// cancelled ends an order of which nothing stays.
func (s *Orders) cancelled(n uint64) {
	s.drop(n, filesDir, stateDir)
	s.change(n, func(x *Ordered) { x.State, x.Ended, x.Progress = Cancelled, s.o.Now(), nil })
}

// watch keeps where a run stands, and ends one that makes too many requests.
func (s *Orders) watch(n uint64, most int64, end context.CancelCauseFunc) func(status.Progress) {
	var last time.Time
	return func(p status.Progress) {
		if p.Requests >= most {
			end(errRequests)
		}
		defer s.held()()
		x := s.all[n]
		if x.Progress = &p; time.Since(last) >= tellGap {
			last = time.Now()
			s.tell()
		}
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
	if usage, is := errors.AsType[*app.Error](why); is && usage.Whole { // another run would meet the same
		again = false
	}
	if !again {
		s.change(o.Number, func(x *Ordered) { x.Result = o.Result })
		s.fail(o.Number, why)
		return
	}
	s.change(o.Number, func(x *Ordered) {
		x.State, x.Result, x.Progress = Waits, o.Result, nil
		x.Tries++
		x.Want.Start = s.o.Now().Add(retry)
		if sum.WaitUntil.After(x.Want.Start) {
			x.Want.Start = sum.WaitUntil
		}
		x.Why = "the run ended early and goes on later: " + strings.Join(sum.Reasons, "; ")
	})
}

// fail ends an order without archives.
func (s *Orders) fail(n uint64, why error) {
	s.drop(n, filesDir, stateDir)
	dir, _ := s.folder(n)
	var o Ordered
	s.change(n, func(x *Ordered) {
		x.State, x.Ended, x.Progress = Failed, s.o.Now(), nil
		x.Why = strings.Join(x.Result.Reasons, "; ")
		if why != nil && (x.Why == "" || why.Error() != app.Suspicious.String()) {
			x.Why = strings.ReplaceAll(app.Remedied(why), filepath.Dir(dir), "…")
		}
		o = *x
	})
	s.o.Log.Warn("an order failed", "order", n, "user", o.By, "err", o.Why)
	s.mail(context.Background(), o)
}

// pack makes the archives.
func (s *Orders) pack(ctx context.Context, a *app.App, o *Ordered, name string) error {
	dir, err := s.folder(o.Number)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filesDir), 0o700)
	}
	if err != nil {
		return err
	}
	for _, form := range o.Want.Forms {
		file := name + "." + form
		out := filepath.Join(dir, filesDir, file)
		if _, err := app.Export(ctx, a, app.ExportRequest{Job: name, Out: out, Format: form}); err != nil {
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
	s.drop(o.Number, stateDir)
	late := false // it was cancelled at the last moment
	s.change(o.Number, func(x *Ordered) {
		if late = errors.Is(context.Cause(ctx), errCancelled); late {
			return
		}
		now := s.o.Now()
		x.State, x.Result, x.Ended, x.Why, x.Progress = Done, o.Result, now, "", nil
		x.Expires = now.Add(s.keeps())
		o = *x
	})
	if late {
		s.cancelled(o.Number)
		return
	}
	if o.Want.Fresh != "" {
		if err := s.KeepFresh(o.Number, o.Free, o.Want.Fresh, o.Want.Window); err != nil {
			s.change(o.Number, func(x *Ordered) { x.Keep = Keeping{State: Failed, Why: app.Remedied(err)} })
		}
	}
	s.mail(ctx, o)
}

// tellTwins sends the mail of orders whose archives another order made.
func (s *Orders) tellTwins(ctx context.Context) {
	for _, y := range s.List(User{Operator: true}) {
		if y.Same == 0 || y.Mailed != "" || y.Want.Mail == "" || (y.State != Done && y.State != Failed) {
			continue
		}
		s.change(y.Number, func(x *Ordered) { x.Mailed = "being sent to " + x.Want.Mail })
		s.group.Go(func() { s.mail(ctx, y) })
	}
}

// mail tells whoever ordered how an order ended.
func (s *Orders) mail(ctx context.Context, o Ordered) {
	if o.Want.Mail == "" || s.o.Mail == nil {
		return
	}
	subject, text := o.message()
	went := "sent to " + o.Want.Mail
	if err := s.o.Mail(ctx, o.Want.Mail, subject, text); err != nil {
		went = fmt.Sprintf("not sent to %s: %v", o.Want.Mail, err)
		s.o.Log.Error("mail of an order was not sent", "order", o.Number, "err", err)
	}
	s.change(o.Number, func(x *Ordered) { x.Mailed = went })
}

// message is the mail of an order that has ended.
func (o *Ordered) message() (subject, text string) {
	subject = fmt.Sprintf("order %d: the mirror of %s is ready", o.Number, o.Want.URL)
	if o.State == Failed {
		subject = fmt.Sprintf("order %d: the mirror of %s failed", o.Number, o.Want.URL)
		return subject, fmt.Sprintf("%s\n\n%s/orders/%s\n", o.Why, o.Base, o.Path())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d files, %s, %s.\n", o.Want.URL, o.Result.Files, mirror.Bytes(o.Result.Bytes),
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

// drop removes parts of an order's folder, and the folder when all of them go.
func (s *Orders) drop(n uint64, parts ...string) {
	dir, err := s.folder(n)
	for _, p := range parts {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, p)))
	}
	if len(parts) > 1 && err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		s.o.Log.Error("the files of an order were not removed", "order", n, "err", err)
	}
}

// expire removes what has been there for long enough.
func (s *Orders) expire() {
	defer s.held()()
	now := s.o.Now()
	for n, x := range s.all {
		ended := x.Ended
		switch {
		case x.State == Done && now.After(x.Expires):
			s.drop(n, filesDir, stateDir)
			x.State, x.Result.Archives = Expired, nil
		case x.State == Draft && now.Sub(x.At) > draftFor:
			x.State, x.Ended = Expired, now
		case x.State.Ended() && !ended.IsZero() && now.Sub(ended) > toldFor,
			x.Same != 0 && s.all[x.Same] == nil:
			delete(s.all, n)
			if err := s.o.Facts.SaveOrder(n, nil); err != nil {
				s.o.Log.Error("an order is not forgotten", "order", n, "err", err)
			}
			continue
		default:
			continue
		}
		if err := s.save(x); err != nil {
			s.o.Log.Error("an order is not kept", "order", n, "err", err)
		}
	}
}
