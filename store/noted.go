// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"os"
	"path/filepath"

	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Results that were noted are in the log before their bodies are on the disk: a loss of power may leave them
// without. Before a transaction is synced, so are the bodies, and only the entries behind the last such one
// need a look.

// errNoBodies says that a database has results whose bodies a loss of power has cost.
var errNoBodies = errors.New("it has results without their bodies")

// noted says how far a segment counts.
type noted struct {
	end     redoTail // up to here
	cut     bool     // a result behind that has no body
	results int      // entries before it that were not synced
}

// counted finds out how far a segment counts.
func counted(s *State, root *os.Root, name string, segment *os.File) (n noted, err error) {
	var last []redoTail // before each entry that was noted and not synced
	_, err = redoRaw(segment, func(h redoHead, _ []byte) error {
		switch h.kind {
		case redoUnsynced:
			last = append(last, n.end)
		case redoLater, redoNoted:
		default:
			last = nil
		}
		n.end = redoTail{size: n.end.size + redoHeader + int64(h.length), tx: h.tx, sum: h.sum}
		return nil
	})
	if (err != nil) || (len(last) == 0) {
		return n, err
	}
	packs, err := packsOf(s, root, name)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, packs.close()) }()
	look := &bodyLook{
		packs:  packs,
		bodies: s.Bodies,
		frames: NewFrameReader(),
	}
	_, err = redoEntries(segment, func(h redoHead, unpack func() ([]byte, error)) error {
		if h.kind != redoUnsynced || h.tx <= last[0].tx {
			return nil
		}
		changes, err := unpack()
		if err != nil {
			return err
		}
		if !look.hasAll(changes) {
			n.end, n.cut = last[n.results], true
			return errEnd
		}
		n.results++
		return nil
	})
	return n, err
}

// packsOf opens the packs of a site for reading.
func packsOf(s *State, root *os.Root, name string) (*packs, error) {
	dir, err := root.OpenRoot("packs")
	if err != nil {
		return nil, disk.Err("open packs", err)
	}
	away, err := s.aways.in(root, AwayName, name)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return openPacks(dir, away), nil
}

// cutLog cuts what does not count off the log of a site whose writer has not closed it, and syncs what does.
// It returns the last transaction that is left; 0 when nothing was cut.
func cutLog(s *State, root *os.Root, name string) (last uint64, err error) {
	if isClean(root) {
		return 0, nil
	}
	segment, err := lastSegment(root)
	if errors.Is(err, errNoLog) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer segment.Close()
	n, err := counted(s, root, name, segment)
	if (err == nil) && (n.results > 0) && !s.opt.Volatile {
		err = errors.Join(s.Bodies.Sync(), disk.Err("sync packs",
			disk.SyncFS(int(segment.Fd()))))
	}
	if (err != nil) || !n.cut {
		return 0, err
	}
	f, err := root.OpenFile(filepath.Join(redoFolder, filepath.Base(segment.Name())), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Truncate(n.end.size), f.Close())
	}
	return n.end.tx, disk.Err("cut log", err)
}

// bodyLook looks at the bodies of results.
type bodyLook struct {
	packs  *packs
	bodies *blobs.Blobs
	frames *FrameReader
}

// hasAll reports whether the bodies of the results of a batch are there, and right.
func (l *bodyLook) hasAll(payload []byte) bool {
	var b record.LogBatch
	if len(payload) < packEnd || b.Decode(payload[packEnd:]) != nil {
		return false
	}
	for i := range b.Done {
		if !l.has(&b.Done[i]) {
			return false
		}
	}
	return true
}

// has reports whether the body of a result is there, and right.
func (l *bodyLook) has(d *record.RawDone) bool {
	var r record.Resource
	u, err := record.StoredURL(string(d.URL))
	if err != nil || r.Decode(u, d.Record) != nil {
		return false
	}
	switch {
	case r.Outcome != site.Fetched:
		return true
	case r.Body == record.PackBody:
		raw, err := l.packs.raw(l.frames, r.At)
		return err == nil && checkFrame(raw) == nil
	case r.Body == record.BlobBody:
		return l.bodies.IsThere(r.Digest, r.Size)
	}
	return true
}
