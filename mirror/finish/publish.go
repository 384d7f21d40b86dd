// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/internal/count"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/phm"
)

// publish is phase two: the tree that is not live becomes the new version, and then the live one.
func (c *Closing) publish(ctx context.Context, j *verdict.Judgement) error {
	if ((j.Verdict == result.Suspicious) && !c.Options.Accept) || (j.Rejection != nil) {
		return nil
	}
	others, err := c.prepareRepairs(ctx)
	if err != nil {
		return err
	}
	plan, err := publish.NewPlan(c.basis(others, j.Gaps.List))
	if err != nil || plan.Nothing() {
		return err
	}
	switch here, err := c.judgeAt(verdict.Building, c.newCase(), j); {
	case err != nil:
		return err
	case here == result.Suspicious:
		return c.startOver(j) // else the next run would only try to publish this one again
	case plan.Entry == "":
		return nil
	}
	if err := awaitTree(ctx, c.Session); err != nil {
		return err
	}
	c.Counts.Phase.Store(int64(urls.Relocating))
	draft, err := publish.Open(plan, c.means())
	if err != nil {
		return err
	}
	defer draft.Close()
	res, err := draft.Build(ctx)
	if err != nil {
		return err
	}
	c.Log.Debug("relocated", "entry", plan.Entry, "files", res.Table.Files)
	if kept := draft.Kept(); len(kept) > 0 {
		if err := noteDamaged(c.Session, kept); err != nil {
			return err
		}
		c.Notes.Cap(count.Of(len(kept), "page stays as it was published, because its stored body is damaged "+
			"and the site does not give it now: mirrord verify names it",
			"pages stay as they were published, because their stored bodies are damaged "+
				"and the site does not give them now: mirrord verify names them"))
	}
	if c.Live != nil && res.Same() {
		if plan.Damaged() {
			c.Notes.Cap("the published version was published again, with good bodies instead of damaged ones")
			return draft.PublishAgain()
		}
		return draft.Leave()
	}
	known := c.newCase()
	if err := learnLinks(c, known); err != nil {
		return err
	}
	known.Lost.IDs, known.Lost.Unknown = res.Gone, res.Unknown
	switch here, err := c.judgeAt(verdict.Publishing, known, j); {
	case err != nil:
		return err
	case here == result.Suspicious:
		return errors.Join(draft.Leave(), c.startOver(j))
	}
	c.Counts.Phase.Store(int64(urls.Publishing))
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.published, err = draft.Publish(c.Options.Accept, c.Options.Restores); err == nil {
		c.repairedLinks, c.newBytes = res.Repaired, res.NewBytes
	}
	return err
}

// basis is what the next version is planned from. others are the documents of which other links are
// repaired than in the published version.
func (c *Closing) basis(others []uint32, gaps []result.Gap) publish.Basis {
	meta := phm.Meta{
		Generator: "mirrord",
		Title:     c.Job.Title,
		Authors:   c.Job.Authors,
		Copyright: c.Job.Copyright,
		Abstract:  c.Job.Abstract,
		Primary:   c.Layout.Primary,
		Scope:     c.scopeText(),
		Version:   c.Version,
		Failures:  int(c.Counts.Failed.Load()),
	}
	_, failures := c.Notes.List()
	for _, f := range failures {
		meta.Failed = append(meta.Failed, phm.MissingURL{URL: f.URL, Reason: f.Reason})
	}
	for i := range gaps {
		g := &gaps[i]
		meta.Gaps = append(meta.Gaps, phm.Lacking{
			URL:    g.URL,
			Origin: g.Origin,
			URLs:   g.URLs,
			Since:  g.Since,
			Reason: g.Why,
		})
	}
	return publish.Basis{
		Table:    c.Table.Settled(),
		Links:    c.Site.Records.Links,
		Covers:   c.Rules.Scope.Covers,
		Live:     c.Live,
		Damage:   c.tree,
		Rescan:   c.Rescan,
		Repaired: others,
		Seeds:    c.Rules.Seeds,
		Meta:     meta,
	}
}

// means is what the next version is made with.
func (c *Closing) means() publish.Means {
	return publish.Means{
		Trees:    c.Site.Trees,
		Rules:    treeRules(c.Job),
		Records:  c.Site.Records,
		Renderer: c.renderer(),
		Counts:   &c.Counts,
		Rests:    c.Site.Records.Rests(),
		Now:      c.Now,
		Log:      c.Log,
	}
}

// scopeText is the job's scope for people.
func (c *Closing) scopeText() string {
	s := c.Job.Scope
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
func (c *Closing) renderer() *render.Renderer {
	return &render.Renderer{
		Table:  c.Table.Settled(),
		Frames: c.Site.Frames,
		Shared: c.shared,
		Cures:  c.cures.Cures,
		Own:    c.Provenance.Reused,
		Notes:  &c.Notes,
		Counts: &c.Counts,
	}
}

// entry returns the mirror path of the page that the mirror opens with, "" without one.
func (c *Closing) entry() string {
	t := c.Table.Settled()
	if id, ok := t.Entry(c.Rules.Seeds); ok {
		return t.Path(id)
	}
	return ""
}

// sayDamage reports what was found of damage of the published tree.
func (c *Closing) sayDamage(d *publish.TreeDamage) {
	if n := len(d.Repaired); n > 0 {
		names := d.Repaired
		if n > urls.MaxExamples {
			names = append(slices.Clone(names[:urls.MaxExamples]), fmt.Sprintf("and %d more", n-urls.MaxExamples))
		}
		c.Log.Warn("published tree repaired", "files", n)
		c.Notes.Cap("damage of the published tree was repaired from the stored bodies: " +
			strings.Join(names, ", "))
	}
	if n := len(d.Wrong); n > 0 {
		c.Log.Warn("published files are damaged, and so are their stored bodies", "files", n)
		c.Notes.Cap(count.Of(n, "published file is damaged, and so is its stored body: it is requested again",
			"published files are damaged, and so are their stored bodies: they are requested again"))
	}
	if d.Lost != nil {
		c.Log.Warn("published tree is damaged", "err", d.Lost)
		c.Notes.Cap(fmt.Sprintf("the published tree is damaged (%v): "+
			"the next complete run publishes all files again", d.Lost))
	}
}
