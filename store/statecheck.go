// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
)

// CheckShared reads all of mirror.db as of its last commit. A *DatabaseError says that it is damaged, or that
// it is missing although sites know what was in it. It changes nothing, and who may not read it finds
// nothing.
func CheckShared(s *State) error {
	db, err := copyDB(s)
	if err == nil {
		err = db.View(func(t *transaction) error {
			if err := t.checkSums(); err != nil {
				return db.damaged(err)
			}
			return nil
		})
		err = errors.Join(err, db.Close())
	}
	if errors.Is(err, errNoStateDB) {
		names, lerr := s.Sites()
		for _, name := range names {
			if run, job := s.recall(name); (run != nil) || job != nil {
				o := s.dbOptions(stateDB)
				return o.damaged(err)
			}
		}
		return lerr
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// MendShared makes mirror.db again from what the sites know when it is damaged or missing, and reports
// whether it did.
func MendShared(s *State) (made bool, err error) {
	err = CheckShared(s)
	if _, damaged := errors.AsType[*DatabaseError](err); !damaged {
		return false, err
	}
	return true, s.replaceDB(err)
}
