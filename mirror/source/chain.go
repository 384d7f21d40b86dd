// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"

	"mirrord/mirror/render"
	"mirrord/site"
	"mirrord/store/blobs"
)

// Chain are the sources of a run. It is safe for concurrent use.
type Chain struct {
	Robots   Robots // rules of origins
	Reuse    *ReuseSource
	Upstream *UpstreamSource
	Space    *SpaceSource
	Origin   *Origin
	Spelled  *Spellings // how the origin is requested
	Replicas *ReplicaSource
	Spread   *Spread // nil: replicas are only a fallback
	Imported ImportedBefore
}

// ImportedBefore is what was published before the first run. It is no source: it says what stays where the
// others fail. The zero value has nothing.
type ImportedBefore struct {
	Files *render.ImportedFiles
	Blobs *blobs.Spool // takes those that are no documents
}

// Get asks the sources that an Ask names, one after the other, until one gives an answer: the mirror of
// another job, what a site that is a mirror says of its versions, what it answered other mirrors of the
// space, the site itself, replicas. Where the answer is from is its From, 0 when no source has one. An error
// is that of our disk, or says that the run ends: of ctx, or fetch.ErrCanceled. The caller closes the Answer
// in any case.
func (c *Chain) Get(ctx context.Context, ask *Ask) (Answer, error) {
	var notes []string
	for _, s := range []struct {
		kind Provider
		get  func(context.Context, *Ask) (Answer, error)
	}{
		{FromReuse, c.Reuse.Get},
		{FromUpstream, c.Upstream.Get},
		{FromSpace, c.Space.Get},
		{FromOrigin, c.Origin.Get},
		{FromReplica, c.Replicas.Get},
	} {
		if ask.Of&s.kind == 0 {
			continue
		}
		a, err := s.get(ctx, ask)
		notes = append(notes, a.Notes...)
		a.Notes = notes
		if a.From != 0 || err != nil {
			return a, err
		}
	}
	return Answer{Notes: notes}, nil
}

// Offers reports whether Get may have an answer of a source for a URL.
func (c *Chain) Offers(of Provider, u site.URL) bool {
	switch of {
	case FromReuse:
		return c.Reuse.Covers(u)
	case FromUpstream:
		return c.Upstream.Follows()
	case FromSpace:
		return c.Space.Gives()
	case FromReplica:
		return c.Replicas.Covers(u)
	}
	return true
}

// IsWell reports whether some replica is trusted and answers.
func (c *Chain) IsWell() bool { return c.Replicas.IsWell() }

// Took counts an answer that became an outcome.
func (c *Chain) Took(a *Answer) {
	switch {
	case a.Told != "":
		c.Space.Took(a.Told)
	case a.From == FromReplica && a.To.IsZero():
		c.Replicas.Took(a)
	}
}
