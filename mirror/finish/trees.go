// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/publish"
	"mirrord/mirror/run"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/trees"
)

// treeRules are the job's rules for trees of older versions.
func treeRules(j *job.Job) trees.TreeRules {
	return trees.TreeRules{Grace: j.Publish.Grace, Most: int(j.Publish.Trees)}
}

// awaitTree waits for a tree in which the version can be built, for no longer than the options allow. The
// report says how long that was, and whether a tree is taken from its readers before its time.
func awaitTree(ctx context.Context, s *run.Session) error {
	yielded := false
	w := publish.TreeWait{
		Trees: s.Site.Trees,
		Rules: treeRules(s.Job),
		Most:  s.Options.TreeWait,
		Now:   s.Now,
		Begins: func(until time.Time) {
			s.Log.Info("publishing waits for a tree", "until", until)
			s.Counts.TreeWait.Store(until.UnixNano())
			if turn := s.Options.Turn; turn != nil {
				turn.Yield(status.Wait{For: status.ForTree, Until: &until})
				yielded = true
			}
		},
	}
	next, waited, err := w.Wait(ctx)
	s.Counts.TreeWait.Store(0)
	if yielded && (err == nil) {
		err = s.Options.Turn.Resume(ctx)
	}
	if err != nil {
		return err
	}
	sayTree(s, &next, waited)
	return nil
}

// sayTree reports what became of the grace of a tree.
func sayTree(s *run.Session, next *trees.NextTree, waited time.Duration) {
	if waited >= time.Second {
		const what = "publishing waited %s, because there were %s, and those of older versions were in " +
			"their grace"
		s.Notes.Cap(fmt.Sprintf(what, count.Span(waited), count.Of(next.Trees, "tree")))
	}
	early := next.Free.Sub(s.Now()).Round(time.Second)
	if early <= 0 {
		return
	}
	s.Log.Info("a tree is replaced within its grace", "version", next.Version, "left", next.Left,
		"early", early)
	const what = "the tree of version %d was replaced %s before its grace was over: a copy of that " +
		"version that is still being made must begin again"
	s.Notes.Cap(fmt.Sprintf(what, next.Version, count.Span(early)))
}

// TrimTrees removes trees that are more than the job wants, once their grace is over. A link that leads
// elsewhere is left to the next run.
func TrimTrees(j *job.Job, s *store.Site) error {
	_, err := s.Trees.Trim(treeRules(j))
	if errors.Is(err, disk.ErrDamaged) {
		return nil
	}
	return err
}

// TrimAfterRun is TrimTrees at the end of a run. What goes wrong is a note.
func TrimAfterRun(s *run.Session) {
	if err := TrimTrees(s.Job, s.Site); err != nil {
		s.Notes.Cap("trees of older versions could not be removed: " + err.Error())
	}
}
