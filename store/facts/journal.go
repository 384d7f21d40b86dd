// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

// The journal is what an unfinished run has done so far: entries of the log, one for each batch, which no
// transaction of the database has. One append per batch is what makes a commit cheap; Fold moves the batches
// into the buckets. Before format 11 they lay in a bucket of the database, see TakeJournal.

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

// ErrTooLong says that a URL is longer than record.MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")

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
	num, size := s.frames.Where()
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
		targets = record.AppendTargets(targets[:0], d.Targets)
		raw := record.RawDone{
			URL:     url,
			Record:  rec,
			Targets: targets,
			Linked:  d.Linked,
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
	return max(n, s.DB.Journal.Now().URLs), err
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
			err := d.Decode(&r)
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

// PacksEnd returns the number of the last pack, and how far it counts.
func (s *Records) PacksEnd() (num uint32, size int64, err error) {
	v, err := s.Meta(home.KeyPack)
	num, size = record.ReadEnd(v)
	if b := s.DB.Journal.Now(); b.Pack > num || (b.Pack == num && b.Size > size) {
		return b.Pack, b.Size, err
	}
	return num, size, err
}

// TakeJournal moves the batches that a program before format 11 has left in the database into the log. What
// one of format 8 or 9 had stored of a first one-off run as published files in a tree without a version is
// not there for it: those pages are requested again.
func (s *Records) TakeJournal() error {
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
		for _, v := range b.From(nil) {
			if len(end) != record.EndSize || !known {
				return s.DB.Damaged(errors.New("it has a journal, and does not say where its packs end"))
			}
			payloads = append(payloads, slices.Concat(end, v))
		}
		return nil
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
		return errors.Join(tx.Bucket(home.Journal).Clear(), tx.Meta().Delete(home.KeyFolding))
	})
}
