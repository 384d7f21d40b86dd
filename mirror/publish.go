// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/phm"
)

// publish is phase two: the tree that is not live becomes the new version, and then the live one.
func (r *closing) publish(ctx context.Context, j *judge.Judgement) error {
	if (j.Verdict == Suspicious) && !r.Options.Accept {
		return nil
	}
	others, err := r.prepareRepairs(ctx)
	if err != nil {
		return err
	}
	plan, err := publish.NewPlan(r.basis(others))
	if err != nil || plan.Nothing() {
		return err
	}
	switch here, err := r.judgeAt(judge.Building, r.newCase(), j); {
	case err != nil:
		return err
	case here == Suspicious:
		return r.startOver() // else the next run would only try to publish this one again
	case plan.Entry == "":
		return nil
	}
	r.Counts.Phase.Store(int64(ledger.Relocating))
	debug.FreeOSMemory() // of settling
	draft, err := publish.Open(plan, r.means())
	if err != nil {
		return err
	}
	defer draft.Close()
	res, err := draft.Build(ctx)
	if err != nil {
		return err
	}
	r.Log.Debug("relocated", "entry", plan.Entry, "files", res.Table.Files)
	if r.Live != nil && res.Same() {
		if plan.Damaged() {
			r.Notes.Cap("the published version was published again, with bodies in the place of damaged ones")
			return draft.PublishAgain()
		}
		return draft.Leave()
	}
	c := r.newCase()
	c.Lost = res.Lost()
	switch here, err := r.judgeAt(judge.Publishing, c, j); {
	case err != nil:
		return err
	case here == Suspicious:
		return errors.Join(draft.Leave(), r.startOver())
	}
	r.Counts.Phase.Store(int64(ledger.Publishing))
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.published, err = draft.Publish(r.Options.Accept); err == nil {
		r.repairedLinks = res.Repaired
	}
	return err
}

// basis is what the next version is planned from. others are the documents of which other links are
// repaired than in the published version.
func (r *closing) basis(others []uint32) publish.Basis {
	meta := phm.Meta{
		Generator: "mirrord",
		Title:     r.Job.Title,
		Primary:   r.Layout.Primary,
		Scope:     r.scopeText(),
		Version:   r.Version,
		Failures:  int(r.Counts.Failed.Load()),
	}
	_, failures := r.Notes.List()
	for _, f := range failures {
		meta.Failed = append(meta.Failed, phm.Failure{URL: f.URL, Reason: f.Reason})
	}
	return publish.Basis{
		Table:    r.Table.Settled(),
		Links:    r.Site.Records.Links,
		Covers:   r.Rules.Scope.Covers,
		Live:     r.Live,
		Damage:   r.tree,
		Rescan:   r.Rescan,
		Repaired: others,
		Seeds:    r.Rules.Seeds,
		Meta:     meta,
	}
}

// means is what the next version is made with.
func (r *closing) means() publish.Means {
	return publish.Means{
		Trees:    r.Site.Trees,
		Records:  r.Site.Records,
		Renderer: r.renderer(),
		Counts:   &r.Counts,
		Now:      r.Now,
		Log:      r.Log,
	}
}

// scopeText is the job's scope for people.
func (r *closing) scopeText() string {
	s := r.Job.Scope
	text := s.Kind
	for _, x := range []struct {
		what string
		list []string
	}{{"prefixes", s.Prefixes}, {"including", s.Include}, {"excluding", s.Exclude}} {
		if len(x.list) > 0 {
			text += fmt.Sprintf("; %s %q", x.what, x.list)
		}
	}
	return text
}

// renderer makes the published files of what the run knows.
func (r *closing) renderer() *render.Renderer {
	return &render.Renderer{
		Table:  r.Table.Settled(),
		Frames: r.Site.Frames,
		Shared: r.shared,
		Cures:  r.cures.Cures,
		Own:    r.Provenance.Reused,
		Notes:  &r.Notes,
		Counts: &r.Counts,
	}
}

// entry returns the mirror path of the page that the mirror opens with, "" when there is none.
func (r *closing) entry() string {
	t := r.Table.Settled()
	if id, ok := t.Entry(r.Rules.Seeds); ok {
		return t.Path(id)
	}
	return ""
}

// sayDamage reports what was found of damage of the published tree.
func (r *closing) sayDamage(d *publish.TreeDamage) {
	if n := len(d.Mended); n > 0 {
		names := d.Mended
		if n > ledger.MaxExamples {
			names = append(slices.Clone(names[:ledger.MaxExamples]), fmt.Sprintf("and %d more", n-ledger.MaxExamples))
		}
		r.Log.Warn("published tree mended", "files", n)
		r.Notes.Cap("damage of the published tree was repaired from the stored bodies: " +
			strings.Join(names, ", "))
	}
	if n := len(d.Wrong); n > 0 {
		r.Log.Warn("published files are damaged, and so are their stored bodies", "files", n)
		r.Notes.Cap(fmt.Sprintf("%d published files are damaged, and so are their stored bodies: "+
			"they are requested again", n))
	}
	if d.Lost != nil {
		r.Log.Warn("published tree is damaged", "err", d.Lost)
		r.Notes.Cap(fmt.Sprintf("the published tree is damaged (%v): "+
			"the next complete run publishes all files again", d.Lost))
	}
}
