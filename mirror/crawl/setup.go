// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// loaded is a retrieval whose table is filled.
type loaded struct {
	*Retrieval
	skipPlan *revisit.SkipPlan
	shapes   verdict.Shapes
	hosts    hostWaits
	lent     lending
	ran      bool // the published version is of a run, and was not imported
}

// planned is a retrieval that can decide which URLs enter the frontier.
type planned struct {
	*loaded
	chains    *frontier.Chains
	sessions  *frontier.SessionIDs
	repeats   *frontier.StateRepeats
	pairs     urls.Pairs
	admission *frontier.Admission
}

// crawling is a retrieval that makes requests and writes what they bring.
type crawling struct {
	*planned
	saver   *process.Saver
	commits *urls.Committer
	needed  *needed
	ends    []func()     // what Close calls, the last one first
	bodies  atomic.Int64 // bytes of new bodies that are no documents

	process *process.Processor // made when the run is planned
	held    unpublished
	skips   skips               // what the plan skipped
	probes  []verdict.ErrorPage // see probeSections
}

// plan makes what decides which URLs enter the frontier.
func (l *loaded) plan() (p *planned, err error) {
	p = &planned{loaded: l}
	if p.chains, err = l.newChains(); err != nil {
		return nil, err
	}
	if p.sessions, err = newSessions(l.Retrieval); err != nil {
		return nil, err
	}
	if p.repeats, err = newRepeats(l.Retrieval); err != nil {
		return nil, err
	}
	if p.pairs, err = recallPairs(l.Retrieval); err != nil {
		return nil, err
	}
	p.admission = p.newAdmission()
	return p, nil
}

// start makes what writes to the disk. stop ends the run.
func (p *planned) start(stop func(error)) *crawling {
	c := &crawling{planned: p, saver: p.newSaver()}
	c.ends = append(c.ends, c.saver.Close)
	if most := c.Job.Limits.MaxTime; most > 0 {
		over := result.LimitError{What: fmt.Sprintf("limits.max_time = %v is over; run again to continue", most)}
		c.ends = append(c.ends, c.limitTime(most, func() { stop(over) }))
	}
	c.commits = c.newCommitter(stop)
	c.commits.Start()
	c.needed = &needed{Session: c.Session, commits: c.commits, front: c.dispatcher.Front}
	c.ends = append(c.ends, c.dispatcher.WatchTail(c.Now), c.chain.Reuse.Close,
		c.chain.Upstream.Close, c.chain.Space.Close, func() { c.chain.Imported.Files.Close() })
	return c
}

// Close ends what start began.
func (r *crawling) Close() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
}

// newStages returns what carries out the skip plan of the run. stage and hear are for the caller to set.
func (r *crawling) newStages() *stages {
	return &stages{
		Session:    r.Session,
		skipPlan:   r.skipPlan,
		dispatcher: r.dispatcher,
		follow:     r.admission.Stored,
		apply:      r.apply,
	}
}

// trapsFact keeps the patterns of the endless chains that runs under the same rules found.
const trapsFact = "traps"

type storedTraps struct {
	Rules    string            `json:"rules"` // their fingerprint
	Patterns map[string][]byte `json:"patterns"`
}

// newChains returns what finds endless chains, with what earlier runs found.
func (r *Retrieval) newChains() (*frontier.Chains, error) {
	known, _, err := urls.ReadFact[storedTraps](r.Site.Notes, trapsFact)
	if err != nil {
		return nil, err
	}
	if known.Rules != r.Fingerprint {
		known.Patterns = nil
	}
	limit := r.Job.Limits.MaxStale
	if r.Options.Imports {
		limit = 0 // an archive ends, and a user wanted to keep all of it
	}
	c := frontier.NewChains(limit, known.Patterns)
	c.Load(r.Table.Settled())
	return c, nil
}

// keepChains stores which endless chains there are, for the next run.
func (r *planned) keepChains() error {
	patterns := r.chains.Known()
	if len(patterns) == 0 {
		return urls.WriteFact(r.Site.Notes, trapsFact, nil)
	}
	return urls.WriteFact(r.Site.Notes, trapsFact, storedTraps{Rules: r.Fingerprint, Patterns: patterns})
}

// newAdmission returns what decides which URLs enter the frontier.
func (r *planned) newAdmission() *frontier.Admission {
	return &frontier.Admission{
		KnownURLs:  &r.KnownURLs,
		Dispatcher: r.dispatcher,

		Rules:    r.Rules,
		Variants: r.variants,
		Chains:   r.chains,
		Sessions: r.sessions,
		Repeats:  r.repeats,
		MaxDepth: r.Job.Limits.MaxDepth,
		Run:      r.Run.Number,
		Rescan:   r.Rescan,
		First:    r.skipPlan.Evidence.First,
		Planned:  func() bool { return r.skipPlan.Plan != nil },
		Leaves: func(id uint32, s urls.State) bool {
			return r.skipPlan.Dead.Rests(id) || r.skipPlan.Plan.Leaves(id, s)
		},
	}
}

// newProcessor returns the processor of URLs. The plan is made.
func (r *crawling) newProcessor() *process.Processor {
	return process.New(process.Options{
		Terms:      &r.Terms,
		KnownURLs:  &r.KnownURLs,
		Dispatcher: r.dispatcher,
		Stores: process.Stores{
			Records: r.Site.Records,
			Frames:  r.Site.Frames,
			Bodies:  r.Options.State.Bodies,
			Saver:   r.saver,
		},
		Sources:   &r.chain,
		Chain:     &r.chain,
		Admission: r.admission,
		SkipPlan:  r.skipPlan,
		Shapes:    &r.shapes,
	})
}

// openImported opens the published version when no run made it: a mirror that was imported without what the
// site sent, or whose database was rebuilt.
func openImported(r *loaded) error {
	if (r.Live == nil) || r.ran {
		return nil
	}
	tree, err := r.Site.Trees.Current()
	if errors.Is(err, disk.ErrDamaged) || errors.Is(err, record.ErrNoVersion) {
		return nil // the run makes it again
	}
	if err == nil {
		r.chain.Imported = source.ImportedBefore{
			Files: render.NewImportedFiles(tree),
			Blobs: r.Options.State.Spool,
		}
	}
	return err
}

// newSaver returns what stores the bodies of the run. A one-off mirror does not look for pages that say the
// same.
func (r *Retrieval) newSaver() *process.Saver {
	o := process.SaverOptions{
		Frames: r.Site.Frames,
		Bodies: r.Options.State.Bodies,
		Get:    r.Site.Records.Get,
		URL:    r.Table.URL,
		InSet:  r.Table.InSet,
		Run:    r.Run.Number,
		Log:    r.Log,
		Failed: func(err error) {
			const what = "pages that say the same are no longer looked for"
			r.Log.Warn(what, "err", err)
			r.Notes.Add(what+": "+err.Error(), r.Rules.Seeds[0])
		},
	}
	if !r.Site.Volatile {
		o.Texts = r.Site.Pages().Texts
	}
	return process.NewSaver(o)
}

// newCommitter returns what writes findings to the disk. stop ends the run.
func (r *crawling) newCommitter(stop func(error)) *urls.Committer {
	return urls.NewCommitter(urls.CommitOptions{
		Table:   r.Table,
		Journal: r.Site.Records,
		Large:   source.PartBytes,
		Packed:  !r.Site.Volatile,
		Room:    r.room,
		Stop:    stop,
	})
}

// room says why nothing more may be stored.
func (r *crawling) room() error {
	if most, limit := r.MostState(); most > 0 && r.Taken+r.Site.Frames.Grown()+r.bodies.Load() > most {
		return run.StateFull(limit)
	}
	return diskRoom(r.Site.Dir, r.Job.Limits.MinFree)
}

// diskRoom says why nothing more may be stored: less than the job's limit is left on the disk of dir.
func diskRoom(dir string, least job.Size) error {
	if least <= 0 {
		return nil
	}
	free, err := disk.FreeBytes(dir)
	if err != nil || free >= int64(least) {
		return nil
	}
	return result.LimitError{What: "less than limits.min_free = " + least.String() +
		" is left on the disk of " + dir + "; free some space and run again to continue"}
}
