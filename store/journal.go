// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mirrord/site"
	"mirrord/store/away"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"
)

// Results that were noted are in the log before their bodies are on the disk: a loss of power may leave them
// without. Before a transaction is synced, so are the bodies, and only the entries behind the last such one
// need a look.

// counted cuts the results that have no body off a segment, with what lies behind them, and reports whether
// there was one. results is how many are left that were not synced.
func counted(s *State, root *os.Root, name string, segment *log.Readable) (results int, cut bool, err error) {
	entries := segment.Uncertain()
	if len(entries) == 0 {
		return 0, false, nil
	}
	packs, _, err := packsOf(s, root, name)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, packs.Close()) }()
	frames := bodies.NewFrameReader()
	lost := func(d record.RawDone) bool { // its body is not there, or wrong
		var r record.Resource
		err := d.Decode(&r)
		switch {
		case err != nil, r.Outcome != site.Fetched:
		case r.Body == record.PackBody:
			_, err = packs.Frame(frames, r.At)
		case r.Body == record.BlobBody:
			return !s.Bodies.IsThere(r.Digest, r.Size)
		}
		return err != nil
	}
	err = log.Payloads(segment.File, entries, func(e log.Entry, payload []byte) error {
		var b record.LogBatch
		whole := len(payload) >= record.EndSize && b.Decode(payload[record.EndSize:]) == nil
		if !whole || slices.ContainsFunc(b.Done, lost) {
			segment.CutAt(e.Off)
			cut = true
			return errCut
		}
		results++
		return nil
	})
	if err == errCut {
		err = nil
	}
	return results, cut, err
}

// errCut ends the reading of a segment.
var errCut = errors.New("the rest is cut off")

// packsOf opens the packs of a site for reading. left is what a depot has of it, nil for nothing.
func packsOf(s *State, root *os.Root, name string) (p *bodies.Packs, left *away.Site, err error) {
	dir, err := root.OpenRoot("packs")
	if err != nil {
		return nil, nil, disk.Err("open packs", err)
	}
	if left, err = s.Away.Of(root, away.FileName, name); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return bodies.Open(dir, left), left, nil // which lists nothing when it is nil
}

// cutLog cuts what does not count off the log of a site whose writer has not closed it, and syncs what does.
// It returns the last transaction that is left; 0 when nothing was cut.
func cutLog(s *State, root *os.Root, name string) (last uint64, err error) {
	if log.IsClean(root) {
		return 0, nil
	}
	segment, err := log.LastOf(root)
	if errors.Is(err, log.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer segment.Close()
	whole, err := log.Read(segment)
	if err != nil {
		return 0, err
	}
	results, cut, err := counted(s, root, name, whole)
	if (err == nil) && (results > 0) && !s.Volatile {
		err = errors.Join(s.Bodies.Sync(), disk.Err("sync packs", disk.SyncFS(int(segment.Fd()))))
	}
	if (err != nil) || !cut {
		return 0, err
	}
	f, err := root.OpenFile(filepath.Join(log.Folder, filepath.Base(segment.Name())), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Truncate(whole.End()), f.Close())
	}
	return whole.Last(), disk.Err("cut log", err)
}

// openJournal reads the journal of a site for a view. ok is false when the log was begun again since the
// database was copied.
func openJournal(s *State, root *os.Root, d *db.DB) (ok bool, err error) {
	segment, err := log.LastOf(root)
	if errors.Is(err, log.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer segment.Close()
	last, known, err := db.Last(d)
	if err != nil || !known {
		return true, err
	}
	whole, err := log.Read(segment)
	if err == nil && !d.Busy && !log.IsClean(root) {
		_, _, err = counted(s, root, d.Site, whole)
	}
	if err != nil {
		return false, err
	}
	at := whole.Checkpoint()
	ok = at == nil || at.Tx <= last || !d.Stale()
	return ok, d.OpenJournal(whole)
}
