// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"

	"mirrord/mirror/crawl"
	"mirrord/mirror/finish"
	"mirrord/mirror/frontier"
	"mirrord/mirror/render"
	"mirrord/mirror/run"
	"mirrord/mirror/takedown"
	"mirrord/store/shared"
)

// Run makes one run. The Summary tells how it ended, also when there is an error; the error is what kept it
// from ending well: a disk that failed, a site that is locked, a job that cannot be compiled. What happens to
// single URLs is in the Summary.
func Run(ctx context.Context, o Options) (*Summary, error) { return runWith(ctx, o, nil) }

// runWith makes one run. repairs are those of a version that comes back; nil for those that are known now. A
// run that is too old to continue is closed before, and reported in the run log.
func runWith(ctx context.Context, o Options, repairs map[string]render.Cure) (*Summary, error) {
	ctx, stop := o.Site.WhileOwned(ctx)
	defer stop()
	if o.State != nil {
		if _, err := takedown.Finish(ctx, o.State, o.Site, o.Log); err != nil {
			return nil, err
		}
	}
	sum, expired, err := runOnce(ctx, o, repairs)
	if expired && (err == nil) {
		sum, _, err = runOnce(ctx, o, repairs)
	}
	return sum, err
}

// runOnce makes one run, or closes one that is too old to continue, and reports it in the run log.
func runOnce(
	ctx context.Context, o Options, repairs map[string]render.Cure,
) (sum *Summary, expired bool, err error) {
	s, err := run.New(o)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	first, err := crawl.New(s)
	if err != nil {
		return nil, false, err
	}
	sum, err = conduct(ctx, s, first, finish.New(s, repairs))
	if sum != nil && o.State != nil && !o.Imports {
		if data, jerr := json.Marshal(sum); jerr == nil {
			rec := shared.RunRecord{
				Site:    s.Site.Name,
				Started: s.Started,
				Ended:   sum.Ended,
				Verdict: sum.Verdict.String(),
				Reasons: sum.Reasons,
				Summary: data,
			}
			if sum.Published {
				rec.Version = sum.Version
			}
			if err == nil {
				err = s.Site.Notes.KeepRun(rec)
			}
			err = errors.Join(err, s.Options.Facts.AddRun(rec))
		}
	}
	return sum, s.Expired, err
}

// Rollback publishes a kept version again, as a new one, and makes the records what they were in it. The
// next run asks the site as if it had never seen what came later. It makes no request. An unfinished run is
// given up.
func Rollback(ctx context.Context, o Options, number int) (*Summary, error) {
	repairs, err := finish.Restore(ctx, o.State, o.Site, number)
	if err != nil {
		return nil, err
	}
	o.NoFetch, o.Accept, o.Restores = true, true, number
	return runWith(ctx, o, repairs)
}

// conduct carries a run through its phases.
func conduct(
	ctx context.Context, s *run.Session, first *crawl.Retrieval, second *finish.Closing,
) (*Summary, error) {
	if err := s.FindLive(); err != nil {
		return nil, err
	}
	if err := finish.FinishRestore(ctx, s.Site); err != nil {
		return nil, err
	}
	if err := second.MendTree(ctx); err != nil {
		return nil, err
	}
	if err := finish.Keep(ctx, s); err != nil {
		return nil, err
	}
	switch held, asked, ok, err := stillHeld(ctx, s, first); {
	case err != nil:
		return nil, err
	case ok:
		return second.HeldBack(&held, asked), nil
	}
	if err := s.Begin(); err != nil {
		return nil, err
	}
	if !s.Expired && !s.Options.NoFetch {
		if err := second.RequestDamaged(ctx); err != nil {
			return nil, err
		}
	}
	if err := finish.Yield(ctx, s); err != nil {
		return nil, err
	}
	defer frontier.Report(s.Options.Progress, first.Progress)()
	found, err := retrieved(ctx, s, first)
	if err != nil {
		return nil, err
	}
	v, err := second.Judge(found)
	switch {
	case err != nil:
		err = v.Broke(err)
	case found.Lost != nil: // the journal is what counts; the next run reads it
		err = found.Lost
	default:
		err = second.Close(ctx, v)
	}
	if s.Expired && (err == nil) {
		err = s.Site.Notes.SetRun(nil)
	}
	if (err == nil) && v.Verdict.Finished() && !s.Expired {
		second.DropParts()
		finish.TrimAfterRun(s)
		first.Renew(ctx)
	}
	sum := second.Summary(v)
	if err == nil {
		finish.Measure(s, sum.Published)
	}
	first.Report(sum)
	if err == nil {
		err = errors.Join(second.KeepHeld(v, sum.Known), second.GapsTold(v))
	}
	return sum, err
}

// stillHeld reports whether the run before was held back, and a look at a few pages found nothing else.
func stillHeld(
	ctx context.Context, s *run.Session, first *crawl.Retrieval,
) (h run.Held, asked int, ok bool, err error) {
	if h, ok, err = s.Held(); (err != nil) || !ok {
		return h, 0, false, err
	}
	ok, asked, err = crawl.StillHeld(ctx, first, &h)
	return h, asked, ok, err
}

// retrieved is phase one, unless what it found is stored already.
func retrieved(
	ctx context.Context, s *run.Session, first *crawl.Retrieval,
) (run.Retrieved, error) {
	if s.Run.Retrieved || s.Options.NoFetch || s.Expired {
		return first.Load()
	}
	return first.Retrieve(ctx), nil
}
