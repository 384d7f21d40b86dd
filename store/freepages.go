// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"

	"mirrord/store/disk"
)

// wipeFree overwrites the free pages with zeros. It makes two transactions first: a file has two meta pages,
// and a damaged one leads back to the transaction before. So the overwritten pages are free in both.
func (d *database) wipeFree() error {
	return d.alone(d.wipeFreeAlone)
}

func (d *database) wipeFreeAlone() error {
	var free map[int]bool
	for range 2 {
		if err := d.transact(func(*transaction) error { return nil }, true); err != nil {
			return err
		}
		var err error
		if free, err = d.freePages(free); err != nil {
			return err
		}
	}
	if d.bolt.Stats().OpenTxN > 0 { // of an older transaction, maybe, which needs pages that are free now
		return errors.New("the database is being read; try again")
	}
	zeros := make([]byte, d.bolt.Info().PageSize)
	for page := range free {
		if _, err := d.file.WriteAt(zeros, int64(page)*int64(len(zeros))); err != nil {
			return disk.Err("write site.db", err)
		}
	}
	return disk.Err("sync site.db", d.file.Sync())
}

// freePages returns the free pages; of those in among only, unless it is nil.
func (d *database) freePages(among map[int]bool) (free map[int]bool, err error) {
	free = map[int]bool{}
	err = d.transact(func(t *transaction) error {
		pages := int(t.Size()) / d.bolt.Info().PageSize
		for page := range pages {
			info, err := t.tx.Page(page)
			if (err != nil) || (info == nil) {
				return err
			}
			if (info.Type == "free") && ((among == nil) || among[page]) {
				free[page] = true
			}
		}
		return nil
	}, false)
	return free, err
}
