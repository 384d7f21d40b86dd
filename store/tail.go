// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"

	"mirrord/site"
)

// The tail of the journal is a file with the results that no batch has yet. Records.Note appends to it and
// syncs nothing, which is a small part of the work of a commit: what was noted outlives the process, and may
// not outlive the machine. A commit has all that was noted before it, so the file begins again behind each
// one. Opening the site turns its entries into batches.
//
// An entry is
//
//	magic   4 bytes "mTl1"
//	length  4 bytes: of the payload
//	base    8 bytes: a digest of what was committed last; an entry of another base is ignored
//	pack    4 bytes, 8 bytes: number of the last pack, and how far it reached
//	crc32c  4 bytes: of the fields from length to pack and the payload, begun with that of the entry before
//	payload a batch of the journal
//
// with numbers in little endian. An entry counts when those before it do, and when all bodies that came with
// it are there: after a loss of power some may not be.
type tail struct {
	file *os.File
	end  int64   // of the entries that count
	base [8]byte // of these
	sum  uint32  // of the last of them
	raw  []byte
}

const (
	tailName   = ".tail"
	tailMagic  = "mTl1"
	tailHeader = 32
	maxTail    = 256 << 20 // bytes of an entry that are believed
)

// tailBase returns the base of entries that follow the last commit.
func (s *Records) tailBase() (base [8]byte, err error) {
	err = s.db.View(func(tx *transaction) error {
		b := seqKey(tx.Bucket(bJournal).Sequence())
		for _, k := range [][]byte{kPack, kKnown, kRuns} {
			v := tx.Bucket(bMeta).Get(k)
			b = append(append(b, byte(len(v))), v...)
		}
		sum := sha256.Sum256(b)
		base = [8]byte(sum[:])
		return nil
	})
	return base, err
}

// tailSum is the checksum of an entry whose length is set.
func tailSum(before uint32, raw []byte) uint32 {
	return crc32.Update(crc32.Update(before, castagnoli, raw[4:28]), castagnoli, raw[tailHeader:])
}

// Note makes results outlive the process, until a Commit has them, news and all. first is the number of
// news[0]; the news continue those noted or committed before. One caller at a time, as for Commit.
func (s *Records) Note(first uint32, news []NewURL, done []*Done) (err error) {
	t := s.tail
	if t == nil {
		return nil
	}
	if t.end == 0 {
		if t.base, err = s.tailBase(); err != nil {
			return err
		}
		t.sum = 0
	}
	if err := s.gather.commit(done); err != nil {
		return err
	}
	raw := append(t.raw[:0], make([]byte, tailHeader)...)
	if raw, err = s.appendBatch(raw, first, news, done, nil); err != nil {
		return err
	}
	if t.raw = raw; cap(raw) > maxKept {
		t.raw = nil
	}
	num, size := s.packs.where()
	le := binary.LittleEndian
	copy(raw, tailMagic)
	le.PutUint32(raw[4:], uint32(len(raw)-tailHeader))
	copy(raw[8:], t.base[:])
	le.PutUint32(raw[16:], num)
	le.PutUint64(raw[20:], uint64(size))
	sum := tailSum(t.sum, raw)
	le.PutUint32(raw[28:], sum)
	if _, err := t.file.WriteAt(raw, t.end); err != nil {
		return s.closeTail() // the next commit reports the error of the disk
	}
	t.end, t.sum = t.end+int64(len(raw)), sum
	return nil
}

// openTail opens the tail of a site for writing. A site whose folder does not take the file has none.
func (s *Records) openTail() {
	if f, err := s.root.OpenFile(tailName, os.O_RDWR|os.O_CREATE, redoMode); err == nil {
		s.tail = &tail{file: f}
	}
}

// closeTail lets go of the tail. It stays when it has what no commit has.
func (s *Records) closeTail() error {
	t := s.tail
	if t == nil {
		return nil
	}
	s.tail = nil
	err := t.file.Close()
	if t.end == 0 {
		err = errors.Join(err, removeIn(s.root, tailName))
	}
	return diskErr("close the tail of the journal", err)
}

// noted is what a process that was killed has left in the tail.
type noted struct {
	batches [][]byte
	known   uint32 // numbers of URLs
	pack    uint32 // that the frames of the batches reach,
	size    int64  // up to there
}

// noted reads the entries of the tail that count.
func (s *Records) noted() (n noted, err error) {
	t := s.tail
	if t == nil {
		return n, nil
	}
	base, err := s.tailBase()
	if err != nil {
		return n, err
	}
	size := int64(0)
	if fi, err := t.file.Stat(); err == nil {
		size = fi.Size()
	}
	var r FrameReader
	var b batch
	head := make([]byte, tailHeader)
	le := binary.LittleEndian
	for at, sum := int64(0), uint32(0); ; {
		if _, err := t.file.ReadAt(head, at); err != nil || string(head[:4]) != tailMagic {
			return n, nil
		}
		length := int64(le.Uint32(head[4:]))
		if [8]byte(head[8:]) != base || length > maxTail || length > size-at-tailHeader {
			return n, nil
		}
		raw := append(head, make([]byte, length)...)
		if _, err := t.file.ReadAt(raw[tailHeader:], at+tailHeader); err != nil {
			return n, nil
		}
		if sum = tailSum(sum, raw); sum != le.Uint32(raw[28:]) {
			return n, nil
		}
		payload := raw[tailHeader:]
		if b.decode(payload) != nil || !s.allThere(&b, &r) {
			return n, nil
		}
		n.batches = append(n.batches, payload)
		n.known = b.first + uint32(len(b.news))
		n.pack, n.size = le.Uint32(raw[16:]), int64(le.Uint64(raw[20:]))
		at += int64(len(raw))
	}
}

// allThere reports whether the bodies that came with the results of a batch are there, and right.
func (s *Records) allThere(b *batch, r *FrameReader) bool {
	var res Resource
	for _, d := range b.done {
		u, err := storedURL(string(d.url))
		if err != nil || res.decode(u, d.rec) != nil {
			return false
		}
		if res.Outcome != site.Fetched {
			continue
		}
		switch res.Body {
		case PackBody:
			raw, err := s.packs.raw(r, res.At)
			if err != nil || checkFrame(raw) != nil {
				return false
			}
		case BlobBody:
			if !s.bodies.isThere(res.Digest, res.Size) {
				return false
			}
		}
	}
	return true
}

// takeNoted makes batches of what the tail has, which frames the packs were begun behind. What cannot be
// kept, on a full disk, is requested again.
func (s *Records) takeNoted(n noted) error {
	s.packs.unsynced.Store(true)
	if err := errors.Join(s.packs.sync(), s.bodies.sync()); err != nil {
		return err
	}
	return s.update("take the tail of the journal", func(tx *transaction) error {
		m, j := tx.Bucket(bMeta), tx.Bucket(bJournal)
		err := errors.Join(s.packs.note(tx), m.Put(kKnown, binary.BigEndian.AppendUint32(nil, n.known)))
		for _, b := range n.batches {
			seq, serr := j.NextSequence()
			if err = errors.Join(err, serr); err == nil {
				err = j.Put(seqKey(seq), b)
			}
		}
		return err
	})
}

// beginPacks begins the packs behind what was committed, and what was noted behind that.
func (s *Records) beginPacks(num uint32, size int64) error {
	s.openTail()
	n, err := s.noted()
	if err != nil || len(n.batches) == 0 {
		return errors.Join(err, s.packs.begin(num, size))
	}
	if err = s.packs.begin(n.pack, n.size); err == nil {
		err = s.takeNoted(n)
	}
	if isFull(err) {
		if s.packs.w != nil {
			s.packs.w.Close() // nothing was written to it
		}
		err = s.packs.begin(num, size)
	}
	return err
}

// isThere reports whether a body is there, and right.
func (b siteBodies) isThere(digest [32]byte, size int64) bool {
	st, err := b.kept.Stat(digest) // which lets the next sync have it
	if err != nil || st.Size != size {
		return false
	}
	f, err := b.kept.Open(digest, 0, -1)
	if err != nil {
		return false
	}
	defer f.Close()
	same, err := hasDigest(f, digest)
	return same && err == nil
}
