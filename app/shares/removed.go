// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"errors"

	"mirrord/store/disk"
)

// removeGone removes from the depot the sites that were removed on this machine, or renamed, but for those
// that it asks for: come does that. What cannot be done now is tried again when the jobs are looked at again.
func (s *NodeShare) removeGone(asked func(name string) bool) {
	if s.depot == nil {
		return
	}
	names, err := s.depot.Removals(s.st)
	if err != nil {
		s.log.Warn("which mirrors are to be removed from the depot is not known", "err", err)
	}
	for _, name := range names {
		if asked(name) {
			continue
		}
		if s.goes(name, true) {
			continue
		}
		s.moves.Go(func() {
			err := s.move(name, func() error { return s.gone(name) })
			if err != nil && !errors.Is(err, disk.ErrLocked) && s.ends.Err() == nil {
				s.log.Warn("a mirror is not removed from the depot; tried again", "job", name, "err", err)
			}
			s.goes(name, false)
		})
	}
}

// gone removes one site from the depot if it was removed here, or renamed. The caller has its lease.
func (s *NodeShare) gone(name string) error {
	done, err := s.depot.FinishRemoval(s.ends, s.st, name)
	if done {
		s.log.Info("a mirror was removed from the depot, as it was here", "job", name)
	}
	return err
}
