// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

// The journal is what an unfinished run has done so far: entries of the log, one for each batch, which no
// transaction of the database has. Their payload is where the packs ended, 12 bytes, and the batch:
//
//	uvarint first     number of the first new URL
//	uvarint count     of new URLs; each: string URL, uvarint referrer, uvarint depth<<1 | requisite
//	uvarint count     of documents done; each: string URL, bytes record, bytes targets
//	bytes             heads of the answers, see heads.go; absent when there are none and no look follows
//	looks             of documents that are as they were, see looks.go; absent when there are none
//
// One append per batch is what makes a commit cheap; Fold moves the batches into the buckets. Before format
// 11 they lay in a bucket of the database, see takeJournal.

// Commit makes results permanent, with those that were noted before: bodies first, then the records that
// refer to them. first is the number of news[0].
func (s *Records) Commit(first uint32, news []record.NewURL, done []*record.Done) error {
	return s.keep(first, news, done, log.Batch)
}

// Note makes results outlive the process; after a loss of power they may not be there until a Commit follows.
// One caller at a time, as for Commit.
func (s *Records) Note(first uint32, news []record.NewURL, done []*record.Done) error {
	return s.keep(first, news, done, log.Unsynced)
}

// keptBatch is how many bytes of memory are kept for the next batch.
const keptBatch = 1 << 20

func (s *Records) keep(first uint32, news []record.NewURL, done []*record.Done, kind byte) error {
	buf := s.batch[:0]
	defer func() {
		if s.batch = buf; cap(buf) > keptBatch {
			s.batch = nil
		}
	}()
	done, looked, err := s.looks.split(done)
	if err != nil {
		return err
	}
	if err := s.frames.Commit(done); err != nil {
		return err
	}
	num, size := s.packs.Where()
	buf = record.AppendEnd(buf, num, size)
	if buf, err = s.appendBatch(buf, first, news, done, looked); err != nil {
		return err
	}
	return s.Log("commit batch", kind, buf, first+uint32(len(news)))
}

// appendBatch writes a batch, of results whose documents lie in the packs.
func (s *Records) appendBatch(
	buf []byte, first uint32, news []record.NewURL, done []*record.Done, looked []record.Look,
) ([]byte, error) {
	buf = binary.AppendUvarint(buf, uint64(first))
	buf = binary.AppendUvarint(buf, uint64(len(news)))
	for i := range news {
		n := &news[i]
		if len(n.URL) > record.MaxURL {
			return buf, fmt.Errorf("commit batch: %.80q…: %w", n.URL, ErrTooLong)
		}
		buf = n.Append(buf)
	}
	buf = binary.AppendUvarint(buf, uint64(len(done)))
	var url, rec, targets []byte
	for _, d := range done {
		r, err := s.frames.Placed(d)
		if err != nil {
			return buf, err
		}
		url, rec = append(url[:0], d.URL.String()...), r.Append(rec[:0])
		raw := record.RawDone{
			URL:    url,
			Record: rec,
			Linked: d.Linked,
		}
		if d.Linked {
			targets = record.AppendTargets(targets[:0], d.Targets)
			raw.Targets = targets
		}
		buf = raw.Append(buf)
	}
	bare := len(buf)
	if !s.Volatile {
		buf = s.frames.AppendAnswers(buf, done)
	}
	if len(looked) > 0 && len(buf) == bare {
		buf = append(buf, 0) // no heads
	}
	for i := range looked {
		buf = looked[i].Append(buf)
	}
	return buf, nil
}

// Known returns how many URLs have a number.
func (s *Records) Known() (n uint32, err error) {
	err = s.DB.View(func(tx *db.Tx) error {
		known, _ := tx.Meta().Number(db.KeyKnown)
		n = uint32(known)
		if int64(n) > tx.Size() { // each has a key; tables are made for so many
			return fmt.Errorf("%d known URLs in %d bytes: %w", n, tx.Size(), record.ErrValue)
		}
		return nil
	})
	return max(n, s.DB.Journal.Known()), err
}

// Replay calls newURL and done for the records of the journal, in the order of the commits, but for the
// looks, which Resources applies. After a crash of Fold some of them are among the stored records too.
// Records and targets are valid during the call only. Either function may be nil.
func (s *Records) Replay(
	newURL func(id uint32, u record.NewURL) error, done func(r *record.Resource, targets []byte,
		linked bool) error,
) error {
	var r record.Resource
	return s.Batches(func(_ uint64, b *record.LogBatch) error {
		for i := 0; newURL != nil && i < len(b.News); i++ {
			if err := newURL(b.First+uint32(i), b.News[i]); err != nil {
				return err
			}
		}
		for i := 0; done != nil && i < len(b.Done); i++ {
			d := &b.Done[i]
			u, err := record.BatchURL(d.URL)
			if err == nil {
				err = r.Decode(u, d.Record)
			}
			if err == nil {
				err = done(&r, d.Targets, d.Linked)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Results calls done for each result of some numbers that is not folded yet, in the order of the commits.
// done must not keep r.
func (s *Records) Results(of func(id uint32) bool, done func(r *record.Resource)) error {
	return s.Replay(nil, func(r *record.Resource, _ []byte, _ bool) error {
		if of(r.ID) {
			done(r)
		}
		return nil
	})
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

// packsEnd returns the number of the last pack, and how far it counts.
func packsEnd(s *home.Folder) (num uint32, size int64, err error) {
	v, err := s.Meta(home.KeyPack)
	num, size = record.ReadEnd(v)
	if last, end := s.DB.Journal.End(); last > num || (last == num && end > size) {
		return last, end, err
	}
	return num, size, err
}

// takeJournal moves the batches that a program before format 11 has left in the database into the log. What
// one of format 8 or 9 had stored of a first one-off run as published files in a tree without a version is
// not there for it: those pages are requested again.
func takeJournal(s *home.Folder) error {
	if s.DB.Segment() == nil {
		return nil
	}
	var payloads [][]byte
	var urls uint64
	err := s.DB.View(func(tx *db.Tx) error {
		b, m := tx.Bucket(home.Journal), tx.Meta()
		if b == nil {
			return nil
		}
		end, known := m.Get(home.KeyPack), false
		urls, known = m.Number(db.KeyKnown)
		return b.ForEach(func(_, v []byte) error {
			if len(end) != record.EndSize || !known {
				return s.DB.Damaged(errors.New("it has a journal, and does not say where its packs end"))
			}
			payloads = append(payloads, slices.Concat(end, v))
			return nil
		})
	})
	for _, payload := range payloads {
		if err == nil {
			err = s.Log("move journal", log.Batch, payload, uint32(urls))
		}
	}
	if err != nil || len(payloads) == 0 {
		return err
	}
	return s.Update("move journal", func(tx *db.Tx) error {
		c := tx.Bucket(home.Journal).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.First() {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return tx.Meta().Delete(home.KeyFolding)
	})
}

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
	look := &bodyLook{
		packs:  packs,
		blobs:  s.Bodies,
		frames: bodies.NewFrameReader(),
	}
	err = log.Payloads(segment.File, entries, func(e log.Entry, payload []byte) error {
		if !look.hasAll(payload) {
			segment.CutAt(e.Off)
			return errPassed
		}
		results++
		return nil
	})
	if err == errPassed {
		return results, true, nil
	}
	return results, false, err
}

// packsOf opens the packs of a site for reading. away is what a depot has of it, nil for nothing.
func packsOf(s *State, root *os.Root, name string) (p *bodies.Packs, away *awaySite, err error) {
	dir, err := root.OpenRoot("packs")
	if err != nil {
		return nil, nil, disk.Err("open packs", err)
	}
	if away, err = s.aways.in(root, AwayName, name); err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	if away == nil {
		return bodies.Open(dir, nil), nil, nil
	}
	return bodies.Open(dir, away), away, nil
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
	if (err == nil) && (results > 0) && !s.opt.Volatile {
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

// bodyLook looks at the bodies of results.
type bodyLook struct {
	packs  *bodies.Packs
	blobs  *blobs.Blobs
	frames *bodies.FrameReader
}

// hasAll reports whether the bodies of the results of a batch are there, and right.
func (l *bodyLook) hasAll(payload []byte) bool {
	var b record.LogBatch
	if len(payload) < record.EndSize || b.Decode(payload[record.EndSize:]) != nil {
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
		_, err := l.packs.Frame(l.frames, r.At)
		return err == nil
	case r.Body == record.BlobBody:
		return l.blobs.IsThere(r.Digest, r.Size)
	}
	return true
}
