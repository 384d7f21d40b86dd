// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"mirrord/mirror/render"
)

// Situation is what a run knows when it chooses the links that it repairs.
type Situation struct {
	Wanted bool                   // the job repairs links
	Given  map[string]render.Cure // those of an older version that comes back, nil for none
	Last   *Applied               // nil when no version ever had repaired links
	Live   int                    // number of the published version, 0 before the first

	Find      func(context.Context) (map[string]render.Cure, error)
	Own       func(u string) bool                              // whether the site itself has a URL
	Published func() (map[string][]render.RepairedLink, error) // by path; never nil
	Note      func(what string)                                // for the summary
}

// Choice is which links a run repairs. The zero value repairs none.
type Choice struct {
	Cures map[string]render.Cure // by the URL that is broken
	Hash  string                 // of the cures; "" when they are those of the published version

	Record bool // the version that is published, or stays, is noted with Hash as applied
	Reset  bool // until then the site has the zero value

	// Compare are the repaired links of the published version, by path: documents in which they are not those
	// of Cures are published again. nil: there is nothing to compare.
	Compare map[string][]render.RepairedLink
}

const notRead = "repair: links to other sites stay as they are: what other mirrors know cannot be read: %v"

// Choose decides which links to other sites are repaired. Its error is that ctx ended, or that the published
// version cannot be read.
func Choose(ctx context.Context, s Situation) (Choice, error) {
	if !s.Wanted && (s.Last == nil) {
		return Choice{}, nil
	}
	if s.Given != nil {
		published, err := s.Published()
		return Choice{
			Cures:   s.Given,
			Record:  true,
			Reset:   err == nil,
			Compare: published,
		}, err
	}
	var c Choice
	if s.Wanted {
		found, err := s.Find(ctx)
		switch {
		case ctx.Err() != nil:
			return c, ctx.Err()
		case err != nil: // another mirror is damaged, not this one, which is published all the same
			s.Note(fmt.Sprintf(notRead, err))
			return s.asPublished()
		}
		c.Cures = found
		maps.DeleteFunc(c.Cures, func(_ string, cure render.Cure) bool {
			return s.Own(cure.To) // such a link would have to follow its file
		})
	}
	if (s.Last == nil) && (len(c.Cures) == 0) {
		return c, nil
	}
	c.Record, c.Hash = true, hashOf(c.Cures)
	now := Applied{Hash: c.Hash, Version: s.Live}
	if looked := (s.Last != nil) && (*s.Last == now); looked || (s.Live == 0) {
		c.Reset = true
		return c, nil
	}
	published, err := s.Published()
	if err != nil {
		return c, err
	}
	if len(published)+len(c.Cures) > 0 {
		c.Reset, c.Compare = true, published // which is not nil
	}
	return c, nil
}

// asPublished makes the repaired links of the published version those of this run.
func (s Situation) asPublished() (Choice, error) {
	c := Choice{Record: s.Last != nil, Cures: map[string]render.Cure{}}
	published, err := s.Published()
	for _, links := range published {
		for _, l := range links {
			c.Cures[l.Was] = render.Cure{To: l.To, Why: l.Why}
		}
	}
	return c, err
}

func hashOf(cures map[string]render.Cure) string {
	h := sha256.New()
	for _, u := range slices.Sorted(maps.Keys(cures)) {
		fmt.Fprintf(h, "%s %s\n", u, cures[u].To)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
