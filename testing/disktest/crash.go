// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Loss says what becomes of bytes that were not synced.
type Loss int

const (
	LosesAll  Loss = iota // none of them are on the disk
	LosesNone             // all are
	LosesSome             // each write is there or not
	Tears                 // each sector of a write is there or not
	Losses                // how many kinds there are
)

const sector = 512

// Crash writes what a disk may hold when the power goes now into a folder. Of the names that were not synced
// any number of the first ones is there.
func (d *PowerLoss) Crash(into string, loss Loss, rnd *rand.Rand) error {
	names := map[*inode]map[string]*inode{}
	of := func(dir *inode) map[string]*inode {
		if names[dir] == nil {
			names[dir] = maps.Clone(dir.settled)
		}
		return names[dir]
	}
	kept := len(d.journal)
	if n := rnd.IntN(4); n > 0 {
		kept = rnd.IntN(kept + 1)
	}
	for _, x := range d.journal[:kept] {
		for _, e := range x.edits {
			e.apply(of(e.dir))
		}
	}
	written := map[*inode]string{}
	var put func(n *inode, at string) error
	put = func(n *inode, at string) error {
		if first := written[n]; first != "" {
			return os.Link(first, at)
		}
		switch {
		case n.target != "":
			return os.Symlink(n.target, at)
		case n.isDir:
			err := os.MkdirAll(at, 0o755)
			for _, name := range slices.Sorted(maps.Keys(of(n))) { // in one order, for one seed
				err = errors.Join(err, put(of(n)[name], filepath.Join(at, name)))
			}
			return err
		}
		written[n] = at
		err := os.WriteFile(at, n.survives(loss, rnd), os.FileMode(n.mode))
		if !n.modified.IsZero() {
			err = errors.Join(err, os.Chtimes(at, n.modified, n.modified))
		}
		return err
	}
	return put(d.root, into)
}

// survives returns the bytes of a file after a loss of power.
func (n *inode) survives(loss Loss, rnd *rand.Rand) []byte {
	data := slices.Clone(n.data)
	for _, w := range n.pending {
		if (loss == LosesAll) || (loss == LosesSome && rnd.IntN(2) == 0) {
			continue
		}
		if w.cut || (loss != Tears) {
			data = w.on(data)
			continue
		}
		for at := 0; at < len(w.data); {
			end := min(len(w.data), at+sector-(w.off+at)%sector)
			if rnd.IntN(2) == 0 {
				part := write{off: w.off + at, data: w.data[at:end]}
				data = part.on(data)
			}
			at = end
		}
	}
	return data
}
