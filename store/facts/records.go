// SPDX-License-Identifier: Apache-2.0

// Package facts is the room of package store that has what a site knows of its URLs: their records and links,
// heads of answers, the journal of an unfinished run, looks, observations, and the published versions. It
// knows no tree and no other site, and of bodies only their places.
package facts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Records is what a site knows of its URLs: their records and links, the heads of answers, the journal of the
// unfinished run, and what each run has observed. Reading is safe for concurrent use; Commit and Fold want
// one caller at a time.
type Records struct {
	*home.Folder
	FoldItems, FoldParts int // how much Fold takes at a time: results of a part, and parts

	frames *bodies.Frames
	heads  *bodies.HeadFiles
	batch  []byte // memory of the last batch
	looks  *looks
}

// Of returns the records of a site whose packs and heads are open.
func Of(f *home.Folder, frames *bodies.Frames, heads *bodies.HeadFiles) *Records {
	return &Records{
		Folder:    f,
		FoldItems: foldItems,
		FoldParts: foldParts,
		frames:    frames,
		heads:     heads,
		looks:     &looks{Folder: f, heads: heads},
	}
}

// Get returns the record of a URL; ok is false when the site does not know it. It does not see the journal,
// but for its looks when the site is not being written.
func (s *Records) Get(u site.URL) (r record.Resource, ok bool, err error) {
	err = s.Some([]site.URL{u}, func(_ int, found *record.Resource) error {
		r, ok = *found, true
		return nil
	})
	return r, ok, err
}

// Some reads the records of some URLs in one transaction, which is faster than Get of each, most of all where
// the URLs are in the order of their keys. f is called for each that there is, with the number of its URL. It
// must not keep r.
func (s *Records) Some(urls []site.URL, f func(n int, r *record.Resource) error) error {
	return s.DB.View(func(tx *db.Tx) error {
		b := tx.Bucket(home.Resources)
		list, err := s.looks.folded(tx)
		if err != nil {
			return err
		}
		var key []byte
		var r record.Resource
		for n, u := range urls {
			key = u.Key(key[:0])
			v := b.Get(key)
			if v == nil {
				continue
			}
			if err := r.Decode(u, v); err != nil {
				return err
			}
			record.ApplyLooks(list, &r)
			if err := f(n, &r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Resources calls f for every record in key order. f must not keep r.
func (s *Records) Resources(f func(r *record.Resource) error) error {
	record, err := s.decoded(f)
	if err != nil {
		return err
	}
	return s.Each(home.Resources, record)
}

// decoded makes a function of records, as the last look left them, one of keys and values.
func (s *Records) decoded(f func(r *record.Resource) error) (func(k, v []byte) error, error) {
	list, err := s.looks.all()
	return decoded(func(r *record.Resource) error {
		record.ApplyLooks(list, r)
		return f(r)
	}), err
}

// decoded makes a function of records, as they are stored, one of keys and values.
func decoded(f func(r *record.Resource) error) func(k, v []byte) error {
	var r record.Resource
	return func(k, v []byte) error {
		if err := r.DecodeKeyed(k, v); err != nil {
			return err
		}
		return f(&r)
	}
}

// Every calls f for each record of a site, as it is and as it was in any version, in no order. f must not
// keep r. It does not see the journal.
func (s *Records) Every(f func(r *record.Resource) error) error {
	record := decoded(f)
	if err := s.Each(home.Resources, record); err != nil {
		return err
	}
	return s.Each(home.History, func(k, v []byte) error {
		if len(v) == 0 {
			return nil
		}
		return record(k[min(8, len(k)):], v)
	})
}

// Ever calls f for each record of a URL: as it was before a version, the oldest first, then as it is, with 0.
// One that was not known is the zero value. f must not keep r.
func (s *Records) Ever(u site.URL, f func(before uint64, r *record.Resource)) error {
	key := u.Key(nil)
	return s.DB.View(func(tx *db.Tx) error {
		list, err := s.looks.folded(tx)
		if err != nil {
			return err
		}
		report := func(before uint64, v []byte) error {
			var r record.Resource
			if len(v) > 0 {
				if err := r.Decode(u, v); err != nil {
					return err
				}
			}
			if before == 0 { // those of the history had their looks when they were replaced
				record.ApplyLooks(list, &r)
			}
			f(before, &r)
			return nil
		}
		hist := tx.Bucket(home.History)
		for _, version := range versionsOf(hist) {
			if v := hist.Get(append(slices.Clone(version), key...)); v != nil {
				if err := report(binary.BigEndian.Uint64(version), v); err != nil {
					return err
				}
			}
		}
		return report(0, tx.Bucket(home.Resources).Get(key))
	})
}

// Numbers goes through the numbers of all URLs, that of the journal last, and calls f for those that are
// wanted, for who looks for a few numbers and has no table. referrer is Resource.Referrer. A URL may come
// twice.
func (s *Records) Numbers(want func(id, referrer uint32) bool, f func(id uint32, u site.URL)) error {
	err := s.Each(home.Resources, decoded(func(r *record.Resource) error {
		if want(r.ID, r.Referrer) {
			f(r.ID, r.URL)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	return s.Replay(func(id uint32, n record.NewURL) error {
		if want(id, n.Referrer) {
			f(id, site.Canonical(n.URL))
		}
		return nil
	}, nil)
}

// ResourcesUnder is Resources for what lies below a directory; it looks at nothing else.
func (s *Records) ResourcesUnder(dir site.URL, f func(r *record.Resource) error) error {
	prefix := dir.Key(nil)
	record, err := s.decoded(f)
	if err == nil {
		err = s.EachFrom(home.Resources, prefix, func(k, v []byte) error {
			if !bytes.HasPrefix(k, prefix) {
				return errPassed
			}
			return record(k, v)
		})
	}
	if err == errPassed {
		return nil
	}
	return err
}

var errPassed = errors.New("behind the range")

// Links calls f for every document with the numbers of the URLs it links to, as AppendTargets wrote them.
func (s *Records) Links(f func(id uint32, targets []byte) error) error {
	return s.Each(home.Links, func(k, v []byte) error {
		if len(k) != 4 {
			return fmt.Errorf("links: %w: key %q", record.ErrValue, k)
		}
		return f(binary.BigEndian.Uint32(k), v)
	})
}

// TargetsOf returns the numbers of the URLs that a document links to.
func (s *Records) TargetsOf(id uint32) ([]byte, error) {
	var out []byte
	err := s.DB.View(func(tx *db.Tx) error {
		out = append(out, tx.Bucket(home.Links).Get(binary.BigEndian.AppendUint32(nil, id))...)
		return nil
	})
	return out, err
}

// changeRecords changes records, of the present or of the past, most of them from a key on. It returns the
// next key, nil at the end.
func changeRecords(
	tx *db.Tx, past bool, start []byte, most int,
	change func(tx *db.Tx, past bool, r *record.Resource) (changed bool, err error),
) (next []byte, err error) {
	records, prefix := tx.Bucket(home.Resources), 0
	if past {
		records, prefix = tx.Bucket(home.History), 8
	}
	var keys, values [][]byte
	var r record.Resource
	for k, v := range records.From(start) {
		if len(keys) == most {
			next = slices.Clone(k)
			break
		}
		if len(v) == 0 {
			continue
		}
		if err := r.DecodeKeyed(k[min(prefix, len(k)):], v); err != nil {
			return nil, err
		}
		changed, err := change(tx, past, &r)
		if err != nil {
			return nil, err
		}
		if changed {
			keys, values = append(keys, slices.Clone(k)), append(values, r.Append(nil))
		}
	}
	records.Fill(0.9)
	for i, k := range keys {
		if err := records.Put(k, values[i]); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// rewrite changes the records, also those of older versions if all is set, some of them with each
// transaction, of which also, which may be nil, is a part. What a crash leaves is right when records of both
// kinds are.
func (s *Records) rewrite(op string, all bool,
	change func(tx *db.Tx, past bool, r *record.Resource) (changed bool, err error),
	also func(tx *db.Tx) error,
) error {
	for _, past := range []bool{false, true} {
		if past && !all {
			return nil
		}
		for next := []byte{}; next != nil; {
			err := s.Update(op, func(tx *db.Tx) (err error) {
				next, err = changeRecords(tx, past, next, s.FoldItems, change)
				if err == nil && also != nil {
					err = also(tx)
				}
				return err
			})
			if err != nil {
				return err
			}
			s.DB.DropPages()
			s.At("some records changed")
		}
	}
	return nil
}

// notePacks writes how far the packs reach into the database: what lies behind is cut off when the site is
// opened.
func (s *Records) notePacks(tx *db.Tx) error {
	num, size := s.frames.Where()
	return tx.Meta().Put(home.KeyPack, record.AppendEnd(nil, num, size))
}

// ReadHead reads the head of an answer for a URL. One that cannot be read is ErrDamaged.
func (s *Records) ReadHead(u site.URL, at record.HeadPlace) (*heads.Head, error) {
	return s.heads.Read(u.String(), at)
}

// AddObservation keeps what a run has observed. A run that is resumed writes it again, with all that it has
// observed since it began.
func (s *Records) AddObservation(o *record.Observation) error {
	v := o.Append(nil)
	return s.Update("write observations", func(tx *db.Tx) error {
		return tx.Bucket(home.Observed).Put(db.NumberKey(uint64(o.Run)), v)
	})
}

// Observations calls f for what every run has observed, oldest first. f must not keep o.
func (s *Records) Observations(f func(o *record.Observation) error) error {
	var o record.Observation
	return s.Each(home.Observed, func(k, v []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("observations: %w: key %q", record.ErrValue, k)
		}
		if err := o.Decode(int(binary.BigEndian.Uint64(k)), v); err != nil {
			return err
		}
		return f(&o)
	})
}
