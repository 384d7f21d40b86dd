// SPDX-License-Identifier: Apache-2.0

// Package takedown takes URLs out of a mirror for good: out of the published tree, of all kept versions and
// of the stored bodies. What was taken down is a fact of the site (scope.TakeDowns), which keeps it from
// being requested again and names the rest of the work. The fact comes first; work that was cut off resumes
// by it.
//
// The published version and the ones before it keep their numbers. A page that links to a removed URL gets
// an absolute link, as to any page outside of the mirror.
package takedown

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"mirrord/internal/regular"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Begin notes that something is to be taken out of a mirror: it is no longer requested. Finish takes it out.
// No run may be under way.
func Begin(s *store.Site, more ...scope.TakeDown) error {
	down, err := scope.TakeDownsOf(s.Notes)
	if err != nil {
		return err
	}
	if down, err = down.With(more...); err != nil {
		return err
	}
	down.Left = scope.EraseLeft
	return s.Notes.SetLastingFact(scope.TakeDownsFact, down.Value())
}

// Finish does the remaining work of the take-downs of a site, but for the bodies that sites share: SharedDone
// notes that these were collected since. An unfinished run continues without the removed URLs. Finish
// returns the packs that it was not able to rewrite.
func Finish(
	ctx context.Context, st *store.State, s *store.Site, log *slog.Logger,
) (left []string, err error) {
	down, err := scope.TakeDownsOf(s.Notes)
	if err != nil || down.Left != scope.EraseLeft {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("forget in %s: %w", s.Name, err)
		}
	}()
	if err := FoldJournal(s); err != nil {
		return nil, err
	}
	e := eraser{
		st:   st,
		s:    s,
		down: down,
	}
	if err := e.erase(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(s.Trees.DropBeside(), store.DropDamaged(s)); err != nil {
		return nil, err
	}
	c, err := s.Purge(ctx, e.goneRaw)
	if err != nil {
		return nil, err
	}
	part := func(url string, _ time.Time) bool { return e.goneRaw(url) }
	if _, err := s.Parts.Collect(false, part); err != nil {
		return nil, err
	}
	if err := errors.Join(e.dropNotes(), rejournal(s)); err != nil {
		return nil, err
	}
	if err := s.WipeFree(); err != nil {
		return nil, err
	}
	log.Info("forgotten", "job", s.Name, "urls", e.urls, "versions", e.versions)
	if len(c.Damaged) > 0 {
		return c.Damaged, nil // the next call tries again
	}
	down.Left = scope.SharedLeft
	return nil, s.Notes.SetLastingFact(scope.TakeDownsFact, down.Value())
}

// SharedDone notes that the bodies that sites share were collected since everything else was done.
func SharedDone(s *store.Site) error {
	down, err := scope.TakeDownsOf(s.Notes)
	if err != nil || down.Left != scope.SharedLeft {
		return err
	}
	down.Left = scope.NothingLeft
	return s.Notes.SetLastingFact(scope.TakeDownsFact, down.Value())
}

// Allow lets something be mirrored again that was taken down; was is false when it was not. The next run
// looks at all documents, and scans them again for links to it.
func Allow(s *store.Site, what string) (was bool, err error) {
	down, err := scope.TakeDownsOf(s.Notes)
	if err != nil {
		return false, err
	}
	down, was, err = down.Without(what)
	if err != nil || !was {
		return false, err
	}
	if err := s.Notes.SetFact(revisit.FullFact, []byte(revisit.FullAlways)); err != nil {
		return true, err
	}
	if err := s.Notes.SetFingerprint(scope.MixedRules); err != nil {
		return true, err
	}
	return true, s.Notes.SetLastingFact(scope.TakeDownsFact, down.Value())
}

// FoldJournal moves the journal of an unfinished run into the records, which then have what a change of them
// must see.
func FoldJournal(s *store.Site) error {
	last, err := s.Versions.Last()
	if err != nil {
		return err
	}
	return s.Records.Fold(facts.Folding{
		Version: last.Number + 1,
		Pending: func(uint32) bool { return true },
		Path:    func(rec *record.Resource) string { return rec.Path },
	})
}

// rejournal puts what an unfinished run has found, and what has no mirror path yet, back into the journal:
// the run gives paths to those in the journal.
func rejournal(s *store.Site) error {
	run, err := s.Notes.Run()
	if err != nil || run == nil {
		return err
	}
	known, err := s.Records.Known()
	if err != nil {
		return err
	}
	var done []*record.Done
	err = s.Records.Resources(func(rec *record.Resource) error {
		if rec.InSet && rec.Path == "" {
			done = append(done, &record.Done{Resource: *rec})
		}
		return nil
	})
	for part := range slices.Chunk(done, urls.BatchItems) {
		if err == nil {
			err = s.Records.Commit(known, nil, part)
		}
	}
	return err
}

// eraser takes what was taken down out of the versions and records of a site.
type eraser struct {
	st   *store.State
	s    *store.Site
	down *scope.TakeDowns

	urls, versions int // that were erased, and made again
}

func (e *eraser) goneRaw(url string) bool {
	u, _, err := site.Parse(url)
	return err == nil && e.down.Has(u)
}

// erase makes all versions again without the removed URLs, and publishes the last one of them in its place.
// It is one step on the disk, or none when it was done before.
func (e *eraser) erase(ctx context.Context) error {
	erasure := &facts.Erasure{Scripts: map[int][]byte{}}
	err := e.s.Records.Every(func(rec *record.Resource) error {
		if d := e.down.Of(rec.URL); d != nil && !isStub(rec) {
			erasure.Reason = d.Sentence()
			erasure.URLs = append(erasure.URLs, rec.URL)
		}
		return nil
	})
	if err != nil {
		return err
	}
	erasure.URLs = unique(erasure.URLs)
	e.urls = len(erasure.URLs)
	if e.urls == 0 {
		return nil
	}
	vs, err := e.s.Versions.List()
	if err != nil {
		return err
	}
	if len(vs) == 0 {
		return e.s.Versions.Erase(erasure)
	}
	live := &vs[len(vs)-1]
	if err := e.ready(ctx, live); err != nil {
		return err
	}
	without, err := render.NewWithout(render.MaterialOf(e.st, e.s), e.down.Has, e.s.Records.Every)
	if err != nil {
		return err
	}
	r := remaking{
		without: without,
		gone:    e.goneRaw,
		erasure: erasure,
	}
	for i := range vs[:len(vs)-1] {
		if err := r.past(ctx, vs[i]); err != nil {
			return err
		}
	}
	return e.publish(ctx, *live, &r) // also when only older versions changed: servers check this one
}

// ready makes damaged files of the published version again, and has it say what its phm.json says.
func (e *eraser) ready(ctx context.Context, live *record.Version) error {
	switch damage, err := publish.Mend(ctx, publish.MendingOf(e.st, e.s), live); {
	case err != nil:
		return err
	case damage.Lost != nil:
		return fmt.Errorf("the published tree is damaged, and the next run makes it again: %w", damage.Lost)
	}
	if len(live.Meta) > 0 {
		return nil
	}
	tree, err := e.s.Trees.Current()
	if err != nil {
		return err
	}
	live.Meta, err = tree.ReadFile(phm.MetaName, regular.MaxSmall)
	return errors.Join(disk.Err("read the published tree", err), tree.Close())
}

// publish makes the published version again, and commits the erasure with it.
func (e *eraser) publish(ctx context.Context, live record.Version, r *remaking) (err error) {
	tree, err := e.s.Trees.Build(trees.TreeRules{New: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	w := tree.Writer()
	defer w.Close()
	made := map[string]bool{}
	rest, err := r.without.Version(ctx, live.Number, true, func(f render.Remade) error {
		made[f.Path] = true
		return w.Write(f.Path, f.Data, f.Time)
	})
	if errors.Is(err, disk.ErrDamaged) {
		return fmt.Errorf("%w; mirrord run-now %s requests damaged files and those imported without originals; "+
			"then forget it", err, e.s.Name)
	}
	if err != nil {
		return err
	}
	changed, err := r.version(&live, &rest)
	if err != nil {
		return err
	}
	if changed {
		r.erasure.Versions = append(r.erasure.Versions, live)
	}
	e.versions = len(r.erasure.Versions)
	if e.versions == 0 {
		return e.s.Versions.Erase(r.erasure) // the tree that was begun is dropped next
	}
	for i := range rest.Files {
		if p := rest.Files[i].Path; !made[p] {
			if err := w.LinkLive(p); err != nil {
				return err
			}
		}
	}
	if err := describe(tree, &live, rest.Files); err != nil {
		return err
	}
	return tree.PublishAgain(live, r.erasure.Apply)
}

// dropNotes takes the removed URLs out of the notes of damaged bodies.
func (e *eraser) dropNotes() error {
	noted, err := e.s.Notes.Damaged()
	if err != nil || len(noted) == 0 {
		return err
	}
	var kept []string
	for _, u := range noted {
		if !e.goneRaw(u) {
			kept = append(kept, u)
		}
	}
	return e.s.Notes.NoteDamaged(kept)
}

// isStub reports whether a record says nothing that has to go.
func isStub(rec *record.Resource) bool {
	says := rec.InSet || rec.Path != "" || rec.Target != 0 || rec.Fetched != 0 || rec.Checked != 0
	return !says && rec.Body == record.NoBody && rec.Outcome == site.OutOfScope
}

// unique returns URLs without those that came before.
func unique(urls []site.URL) (out []site.URL) {
	seen := map[site.URL]bool{}
	for _, u := range urls {
		if !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	return out
}
