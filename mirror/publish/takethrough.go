// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"mirrord/internal/numbered"
	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// take gives a Draft the tree with the files that are right. links calls its argument for each document, as
// Basis.Links does. ok is false when there is no tree, or none that can be used.
func (t *Through) take(
	now urls.Settled, records ManyRecords, links func(f func(id uint32, targets []byte) error) error,
) (tree *store.Tree, ok bool, err error) {
	if t == nil || t.tree == nil {
		return nil, false, nil
	}
	if err := t.lines.flush(); err != nil {
		return nil, false, err
	}
	if t.taken, err = t.lines.documents(&t.placed); err != nil {
		return nil, false, err
	}
	t.placed = numbered.Values[writtenIs]{}
	some, named := t.outlook.compare(now)
	var wrong, doubtful []uint32
	for id, f := range t.taken.All() {
		s := now.State(id)
		switch right := !f.is(isVoid) && s.InSet() && !s.Shares() && f.when >= t.outlook.retracted.Of(id); {
		case !right:
			wrong = append(wrong, id)
		case f.is(namesLiteral) && len(named) > 0:
			doubtful = append(doubtful, id)
		}
	}
	naming, err := t.naming(doubtful, now, records, named)
	wrong = append(wrong, naming...)
	if (err == nil) && some {
		err = links(func(id uint32, targets []byte) error {
			f := t.taken.Of(id)
			if f.some() && leadsToAny(targets, func(to uint32) bool { return f.when < t.outlook.retracted.Of(to) }) {
				wrong = append(wrong, id)
			}
			return nil
		})
	}
	if err == nil {
		err = t.remove(wrong)
	}
	tree, t.tree = t.tree, nil
	t.outlook = outlook{}
	if err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	t.o.Log.Debug("written through", "wrong", len(wrong))
	return tree, true, nil
}

// documentsRead is how many documents naming reads at a time.
const documentsRead = 256

// naming returns those documents that link to some URLs without numbers, by their hashes. The next reader of
// one that cannot be read reports the error.
func (t *Through) naming(
	ids []uint32, now urls.Settled, records ManyRecords, named map[uint64]bool,
) (naming []uint32, err error) {
	r := (&render.Renderer{Frames: t.o.Frames}).Splicer()
	var urls []site.URL
	for some := range slices.Chunk(ids, documentsRead) {
		urls = urls[:0]
		for _, id := range some {
			urls = append(urls, now.URL(id))
		}
		err = errors.Join(err, records.Some(urls, func(n int, rec *store.Resource) error {
			found, err := r.Names(rec.At, func(u []byte) bool { return named[hashOf(u)] })
			if found || (err != nil) {
				naming = append(naming, some[n])
			}
			return nil
		}))
	}
	return naming, err
}

// remove removes the files of documents. Those that have rests are withdrawn.
func (t *Through) remove(wrong []uint32) error {
	slices.Sort(wrong)
	wrong = slices.Compact(wrong)
	var docs []store.WrittenThrough
	var room []byte
	for _, id := range wrong {
		f := t.taken.Of(id)
		l, err := t.lines.read(f.line(), &room)
		if err != nil {
			return err
		}
		t.taken.Put(id, written{})
		path := t.outlook.path(foreseen{path: l.path, final: id})
		if (t.rests != nil) && !f.is(isVoid) {
			docs = append(docs, store.WrittenThrough{At: l.at, Path: path})
		} else if err := t.tree.Remove(path); err != nil {
			return err
		}
	}
	if t.rests == nil {
		return nil
	}
	return t.o.Rests.Withdraw(t.tree, docs)
}

// leadsToAny reports whether a stored list of targets has a number of a kind.
func leadsToAny(targets []byte, is func(id uint32) bool) (found bool) {
	store.Targets(targets, func(to uint32) bool {
		found = is(to &^ (store.Mention | store.Guess))
		return !found
	})
	return found
}

// lineOf is the kept line of a file and of the document that it was made of, whose rest is at a place.
func (t *Through) lineOf(rec *store.Resource, at store.Place, f *phm.File) (writtenLine, error) {
	l := writtenLine{
		id:    rec.ID,
		at:    at,
		body:  rec.Digest,
		size:  f.Size,
		mtime: render.ModTime(rec).Unix(),
		edits: f.Edits,
	}
	_, err := hex.Decode(l.digest[:], []byte(f.SHA256))
	if err == nil && len(f.Extra) > 0 {
		l.extra, err = json.Marshal(f.Extra)
	}
	return l, err
}

// has reports whether the file of a document stands as it was written through, as far as is known without its
// record. A nil Through has none.
func (t *Through) has(id uint32) bool { return t != nil && t.taken.Of(id).some() }

// line completes the line of a document of which the file stands as it was written through; ok is false when
// it does not, or is not what the record says by now. room is that of the caller.
func (t *Through) line(rec *store.Resource, f *phm.File, room *[]byte) (ok bool, err error) {
	if t == nil {
		return false, nil
	}
	made := t.taken.Of(rec.ID)
	if !made.some() {
		return false, nil
	}
	l, err := t.lines.read(made.line(), room)
	if err != nil {
		return false, err
	}
	if t.rests != nil {
		ok = l.at == rec.At
	} else {
		ok = l.body == rec.Digest
	}
	if !ok || l.mtime != render.ModTime(rec).Unix() {
		return false, nil
	}
	f.Size, f.SHA256, f.Edits = l.size, store.HexOf(l.digest), l.edits
	if len(l.extra) > 0 {
		err = json.Unmarshal(l.extra, &f.Extra)
	}
	return true, err
}

// always is later than any time of an outlook.
const always = math.MaxUint32
