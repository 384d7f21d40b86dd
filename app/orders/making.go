// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/scheduler/status"
)

// making is an order whose run and archives this process makes.
type making struct {
	s *Orders
	Ordered
}

// run makes the run of an order, and its archives.
func (m *making) run(ctx context.Context) {
	dir, err := m.s.folder(m.OrderID)
	if err != nil {
		m.fail(err)
		return
	}
	state := filepath.Join(dir, stateDir)
	if err := os.MkdirAll(state, 0o700); err != nil {
		m.fail(err)
		return
	}
	a := *m.s.app
	a.State = func() (string, error) { return state, nil }
	j, err := m.Want.runJob()
	if err != nil {
		m.fail(err)
		return
	}
	if m.s.Silence > 0 {
		j.Polite.HeaderTimeout = m.s.Silence
	}
	work, end := context.WithCancelCause(ctx)
	defer end(nil)
	var notes sync.WaitGroup
	sum, err := runs.Get(work, &a, runs.GetRequest{Job: j, Keep: true, Progress: m.watch(end, &notes)})
	notes.Wait()
	why := context.Cause(work)
	switch {
	case errors.Is(why, errCancelled):
		m.cancelled()
		return
	case why != nil && !errors.Is(why, errRequests):
		return // the daemon or its session ends; the run continues after its next start, or elsewhere
	}
	if sum != nil {
		m.Result = resultOf(sum, m.Result)
	}
	if sum == nil || sum.Version == 0 {
		m.unpublished(sum, cmp.Or(why, err))
		return
	}
	err = m.pack(ctx, &a, j.Name)
	switch why := context.Cause(ctx); {
	case errors.Is(why, errCancelled):
		m.cancelled()
	case err != nil && why != nil: // as above
	case err != nil:
		m.fail(err)
	default:
		m.finish(ctx)
	}
}

// cancelled ends an order of which nothing stays.
func (m *making) cancelled() {
	m.s.drop(m.OrderID, filesDir, stateDir)
	m.s.change(m.Ordered, func(x *Ordered) { x.State, x.Ended, x.Stop = Cancelled, m.s.Now(), false })
}

// watch records the progress of a run, and ends it when the orders of its user have made as many requests
// as they may, also those that run beside it. Its records of that may be written until notes is done.
func (m *making) watch(end context.CancelCauseFunc, notes *sync.WaitGroup) func(status.Progress) {
	var told, noted time.Time
	most := m.mayRequest()
	return func(p status.Progress) {
		tell := time.Since(told) >= tellGap
		if tell {
			told, most = time.Now(), m.mayRequest()
		}
		if p.Requests >= most {
			end(errRequests)
		}
		if time.Since(noted) >= noteGap {
			noted = time.Now()
			notes.Go(func() { m.noteRequests(p.Requests) })
		}
		m.s.progress(m.OrderID, &p, tell)
	}
}

// mayRequest is how many requests the run under way of an order may make, beside the order's earlier runs.
func (m *making) mayRequest() (most int64) {
	if m.Free {
		return math.MaxInt64
	}
	now := m.s.Now()
	m.s.read(func(all queue, t *terms) {
		most = t.left(m.By, all, t.unseen(all, OrderID{}, now), now).Requests
		if x := all[m.OrderID]; x != nil {
			most += x.Result.Requests - m.Result.Requests // noted of this run
		}
	})
	return most
}

// noteRequests keeps how many requests a run has made, so that those beside it, also on other nodes, and
// those after a failure count them.
func (m *making) noteRequests(made int64) {
	_, err := m.s.update(m.OrderID, func(x *Ordered) error {
		if x.State != Runs || x.Claim != m.Claim {
			return errTaken
		}
		x.Result.Requests = max(x.Result.Requests, m.Result.Requests+made)
		return nil
	})
	if err != nil && !errors.Is(err, errTaken) {
		m.s.Log.Debug("the requests of an order are not kept", "order", m.Ref(), "err", err)
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
func (m *making) unpublished(sum *mirror.Summary, why error) {
	again := sum != nil && sum.Verdict == mirror.Partial && m.Tries+1 < tries && !errors.Is(why, errRequests)
	if usage, is := errors.AsType[*env.Error](why); is && usage.Whole { // another run would meet the same
		again = false
	}
	if !again {
		m.Ordered = m.s.change(m.Ordered, func(x *Ordered) { x.Result = m.Result })
		m.fail(why)
		return
	}
	m.s.change(m.Ordered, func(x *Ordered) {
		x.State, x.Result, x.Claim.Session = Waits, m.Result, ""
		x.Tries++
		x.Want.Start = m.s.Now().Add(retry)
		if sum.WaitUntil.After(x.Want.Start) {
			x.Want.Start = sum.WaitUntil
		}
		x.Why = "the run ended early and continues later: " + strings.Join(sum.Reasons, "; ")
	})
}

// fail ends an order without archives.
func (m *making) fail(why error) {
	m.s.drop(m.OrderID, filesDir, stateDir)
	dir, _ := m.s.folder(m.OrderID)
	m.Ordered = m.s.change(m.Ordered, func(x *Ordered) {
		x.State, x.Ended = Failed, m.s.Now()
		x.Why = strings.Join(x.Result.Reasons, "; ")
		if why != nil && (x.Why == "" || why.Error() != env.Suspicious.String()) {
			x.Why = strings.ReplaceAll(env.Remedied(why), filepath.Dir(dir), "…")
		}
	})
	if m.State != Failed {
		return
	}
	m.s.Log.Warn("an order failed", "order", m.Ref(), "user", m.By, "err", m.Why)
	m.s.mail(context.Background(), m.Ordered)
}

// pack makes the archives.
func (m *making) pack(ctx context.Context, a *env.App, name string) error {
	dir, err := m.s.folder(m.OrderID)
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filesDir), 0o700)
	}
	if err != nil {
		return err
	}
	for _, form := range m.Want.Forms {
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
		m.Result.Archives = append(m.Result.Archives, ArchiveFile{Form: form, Name: file, Bytes: fi.Size()})
	}
	return nil
}

// finish ends an order whose archives are there.
func (m *making) finish(ctx context.Context) {
	keeps := m.s.keeps()
	x := m.s.change(m.Ordered, func(x *Ordered) {
		if x.Stop {
			return // it was cancelled at the last moment
		}
		now := m.s.Now()
		x.State, x.Result, x.Ended, x.Why = Done, m.Result, now, ""
		x.Expires, x.Held = now.Add(keeps), m.s.node
	})
	switch {
	case x.Stop:
		m.cancelled()
		return
	case x.State != Done: // another node works on it, or it is not known whether it was kept
		return
	}
	m.s.drop(m.OrderID, stateDir)
	if m.Want.Fresh != "" {
		if err := m.s.KeepFresh(m.OrderID, m.Free, m.Want.Fresh, m.Want.Window); err != nil {
			m.s.change(m.Ordered, func(x *Ordered) { x.Keep = Keeping{State: Failed, Why: env.Remedied(err)} })
		}
	}
	m.s.mail(ctx, x)
}
