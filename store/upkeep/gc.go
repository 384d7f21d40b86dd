// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"

	"mirrord/site"
	"mirrord/store/collect"
	"mirrord/store/disk"
	"mirrord/store/facts"
)

// Compact gives the space of documents and heads that nothing refers to back. With dry it only says what it
// would do. No run may be under way. What it was not able to read it leaves where it is.
func (s *Site) Compact(ctx context.Context, dry bool) (c collect.Compaction, err error) {
	defer disk.Explain(&err, "compact packs of %s", s.Name)
	if !dry {
		if err := s.Owned(); err != nil {
			return c, err
		}
		if err := (facts.CollectedRecords{Records: s.Records}).ForgetBodies(); err != nil {
			return c, err
		}
	}
	return s.collect(ctx, nil, dry)
}

// Purge is Compact that leaves no byte of documents and heads that nothing refers to, and none of the frames
// of URLs that is names. No record may refer to these. A pack with a document in use that cannot be read
// stays, and is in Compaction.Damaged. The log is begun again.
func (s *Site) Purge(ctx context.Context, is func(url string) bool) (c collect.Compaction, err error) {
	defer disk.Explain(&err, "purge packs of %s", s.Name)
	if err := s.Owned(); err != nil {
		return c, err
	}
	gone := map[uint32]bool{}
	all := func(_, _ uint32) bool { return true }
	err = s.Records.Numbers(all, func(id uint32, u site.URL) {
		if is(u.String()) {
			gone[id] = true
		}
	})
	if err != nil {
		return c, err
	}
	if c, err = s.collect(ctx, gone, false); err != nil {
		return c, err
	}
	return c, s.RenewLog()
}

func (s *Site) collect(
	ctx context.Context, gone map[uint32]bool, dry bool,
) (c collect.Compaction, err error) {
	w, err := s.compactor(gone)
	if err == nil {
		c, err = w.CompactPacks(ctx, dry)
	}
	if err == nil {
		c.Heads, err = w.CompactHeads(ctx, dry)
	}
	return c, err
}

// WipeFree makes the database of a site again, from a log that is begun again: bbolt leaves what was deleted
// in free pages until it needs these. No run may be under way.
func (s *Site) WipeFree() error {
	if err := s.RenewLog(); err != nil {
		return err
	}
	return disk.Err("wipe free pages of "+s.Name, s.DB.Renew())
}

func (s *Site) compactor(gone map[uint32]bool) (*collect.Compactor, error) {
	last, _, err := s.Records.PacksEnd()
	here, _ := s.Frames.Where() // of a site that is open for writing
	return collect.New(collect.Holdings{
		Packs:   s.Frames.Packs,
		Last:    max(last, here),
		Away:    s.Away != nil,
		Writer:  s.Frames.NewFrameWriter(),
		Heads:   s.Heads,
		Records: facts.CollectedRecords{Records: s.Records},
		Owned:   s.Owned,
		Step:    s.At,
		Gone:    gone,
	}), err
}

// RenewLog begins the log of a site that is open for writing again, with all that its database holds.
func (s *Site) RenewLog() error {
	if err := s.Owned(); err != nil {
		return err
	}
	return s.DB.Checkpoint()
}
