// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Import makes a PHM in any form the first version of a mirror that is named as. Nothing is left when
// something is wrong with it. It returns what the archive says of itself.
func Import(ctx context.Context, a *env.App, name, as string) (*phm.Meta, error) {
	if !job.ValidName(as) {
		return nil, env.NotAName(as)
	}
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return importAs(st, name, as, func(sink phm.Sink) (*phm.Meta, error) {
		return files.Unpack(ctx, name, sink)
	})
}

// importAs makes the mirror as of what copyTo writes; name is that of the archive.
func importAs(
	st *store.State, name, as string, copyTo func(phm.Sink) (*phm.Meta, error),
) (*phm.Meta, error) {
	if err := freeName(st, as); err != nil {
		return nil, err
	}
	s, err := st.OpenSite(as)
	if err != nil {
		return nil, err
	}
	m, err := importInto(s, copyTo, st.Now())
	if err = errors.Join(err, s.Close()); err != nil {
		if disk.IsFull(err) {
			err = fmt.Errorf("%w; free some space and import it again", err)
		}
		return nil, errors.Join(fmt.Errorf("import %s: %w", name, err), st.RemoveSite(as))
	}
	return m, nil
}

// abandoned reports whether a site has no facts: an import that was killed leaves one.
func abandoned(s *store.Site) bool {
	vs, err := s.Versions.List()
	known, kerr := s.Records.Known()
	run, rerr := s.Notes.Run()
	return errors.Join(err, kerr, rerr) == nil && len(vs) == 0 && known == 0 && run == nil
}

// maxVersion leaves more numbers for later versions than a mirror will ever need.
const maxVersion = 1<<31 - 1

// importInto makes a PHM that copyTo writes the first version of a site.
func importInto(
	s *store.Site, copyTo func(phm.Sink) (*phm.Meta, error), now time.Time,
) (*phm.Meta, error) {
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	m, err := copyTo(files.TreeSink{Root: tree.Root.Root})
	if err != nil {
		return nil, err
	}
	if m.Version > maxVersion {
		return nil, fmt.Errorf("%s: version %d is no number of a version; at most %d", phm.MetaName, m.Version,
			maxVersion)
	}
	when := m.Retrieved
	if when.IsZero() {
		when = now
	}
	meta, err := tree.Root.ReadFile(phm.MetaName, regular.MaxSmall)
	if err != nil {
		return nil, err
	}
	v := record.Version{
		Number: max(m.Version, 1), // the mirror continues from that of the archive
		Time:   when,
		Files:  m.Files,
		Bytes:  m.Bytes,
		Added:  m.Files,
		Meta:   meta,
	}
	return m, tree.Publish(v, nil)
}
