// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"slices"

	"mirrord/site"
)

// fold gathers the records of a part, so that each is written once and in key order.
type fold struct {
	Folding
	recs map[string]*folded // by key
	keys []string           // in order, once all are there
}

// recordWriter writes the records of a part.
type recordWriter struct {
	*fold
	site      *Records
	res, hist *bucket
	looked    []look // of the runs before
}

// folded is what the batches say of one URL.
type folded struct {
	Resource
	done   bool   // it is not only known
	answer []byte // head of the last answer that had one, coded
}

// addNew takes a URL that is pending, unless there is a record of it.
func (f *fold) addNew(id uint32, u site.URL, n *NewURL) {
	k := string(u.Key(nil))
	if f.recs[k] == nil {
		f.recs[k] = &folded{Resource: Resource{
			ID:       id,
			URL:      u,
			Referrer: n.Referrer,
			Depth:    n.Depth,
			Requis:   n.Requis,
		}}
	}
}

// addDone takes a result, a record, with the head of its answer.
func (f *fold) addDone(u site.URL, rec, answer []byte) error {
	key := string(u.Key(nil))
	r := f.recs[key]
	if r == nil {
		r = new(folded)
		f.recs[key] = r
	}
	if err := r.decode(u, rec); err != nil {
		return err
	}
	r.done = true
	if p := f.Path(&r.Resource); r.InSet && p != "" && p != r.Path {
		r.Path, r.Moved = p, f.Version
	}
	if len(answer) > 0 {
		r.answer = slices.Clone(answer)
	}
	return nil
}

func (f *recordWriter) flush() error {
	f.res.fill(0.9)
	f.hist.fill(0.9) // it grows at its end
	for _, k := range f.keys {
		r := f.recs[k]
		if !r.done && f.res.Get([]byte(k)) != nil {
			continue
		}
		if err := f.put([]byte(k), r); err != nil {
			return err
		}
	}
	return nil
}

// put writes one record, with the heads that it is to have.
func (f *recordWriter) put(key []byte, r *folded) error {
	keeps := r.done && !f.site.volatile
	var old *Resource // the record before
	var was []byte
	if keeps || f.Version > 1 {
		if was = f.res.Get(key); was != nil {
			old = new(Resource)
			if err := old.decode(r.URL, was); err != nil {
				return err
			}
			if apply(f.looked, old) {
				was = old.append(nil)
			}
		}
	}
	if f.Version > 1 {
		if err := f.remember(key, was, old, &r.Resource); err != nil {
			return err
		}
	}
	if keeps {
		f.site.heads.place(&r.Resource, old, r.answer)
	}
	return f.res.Put(key, r.append(nil))
}

// remember keeps the value that is replaced when the mirror's content differs by it; nil when there is none.
func (f *recordWriter) remember(key, value []byte, old, now *Resource) error {
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
