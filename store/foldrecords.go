// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"

	"mirrord/store/db"
	"mirrord/store/record"
)

// recordWriter writes the records of a part.
type recordWriter struct {
	*foldChunk
	res, hist *db.Bucket
	looked    []record.Look // of the runs before
	buf       []byte        // of a record
}

// folded is what the batches say of one URL.
type folded struct {
	key []byte
	record.Resource
	fresh  bool   // no item was taken yet
	done   bool   // it is not only known
	answer []byte // head of the last answer that had one, coded
}

// take takes an item for a record: a result replaces what was before, and a URL that is only known does not.
func (c *foldChunk) take(r *folded, i *foldItem) error {
	if !i.done && !r.fresh {
		return nil
	}
	r.fresh = false
	if err := r.Decode(r.URL, i.record); err != nil || !i.done {
		return err
	}
	r.done = true
	if p := c.Path(&r.Resource); r.InSet && p != "" && p != r.Path {
		r.Path, r.Moved = p, c.Version
	}
	if len(i.answer) > 0 {
		r.answer = i.answer
	}
	return nil
}

func (f *recordWriter) flush() error {
	f.res.Fill(0.9)
	f.hist.Fill(0.9) // it grows at its end
	for i := range f.recs {
		r := &f.recs[i]
		if !r.done && f.res.Get(r.key) != nil {
			continue
		}
		if err := f.put(r); err != nil {
			return err
		}
	}
	return nil
}

// put writes one record, with the heads that it is to have.
func (f *recordWriter) put(r *folded) error {
	keeps := r.done && !f.site.volatile
	var old *record.Resource // the record before
	var was []byte
	if keeps || f.Version > 1 {
		if was = f.res.Get(r.key); was != nil {
			old = new(record.Resource)
			if err := old.Decode(r.URL, was); err != nil {
				return err
			}
			if record.ApplyLooks(f.looked, old) {
				was = old.Append(nil)
			}
		}
	}
	if f.Version > 1 {
		if err := f.remember(r.key, was, old, &r.Resource); err != nil {
			return err
		}
	}
	if keeps {
		f.site.heads.Place(&r.Resource, old, r.answer)
	}
	f.buf = r.Append(f.buf[:0])
	return f.res.Put(r.key, f.buf)
}

// remember keeps the value that is replaced when the mirror's content differs by it; nil for a new record.
func (f *recordWriter) remember(key, value []byte, old, now *record.Resource) error {
	same := (old != nil) && old.InSet == now.InSet && old.Digest == now.Digest && old.Path == now.Path &&
		old.Target == now.Target && old.Fragment == now.Fragment &&
		old.MIME == now.MIME && old.Charset == now.Charset
	if same {
		return nil
	}
	hk := append(binary.BigEndian.AppendUint64(nil, uint64(f.Version)), key...)
	if f.hist.Get(hk) != nil {
		return nil // the first one of this version is the one to go back to
	}
	return f.hist.Put(hk, append([]byte{}, value...))
}
