// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/binary"
	"slices"

	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Erasure takes URLs out of everything that a database has of them, with the versions that were made again
// without them. Only the number of a URL stays, because the links of documents name it.
type Erasure struct {
	URLs     []site.URL
	Reason   string           // of their outcome, which is site.OutOfScope from then on
	Versions []record.Version // that were made again under their numbers
	Scripts  map[int][]byte   // edit scripts that changed, by the version that they lead back from; uncompressed
	Lost     []LostRecords    // that are no longer part of the mirror
}

// Erase changes the database of a site whose published tree has no file of the URLs.
func (s *Versions) Erase(e *Erasure) error {
	return s.Update("erase records", e.Apply)
}

// Apply changes the database, all of it or, with an error, nothing.
func (e *Erasure) Apply(tx *db.Tx) error {
	keys := make([][]byte, len(e.URLs))
	for i, u := range e.URLs {
		keys[i] = u.Key(nil)
		if err := e.stub(tx, u, keys[i]); err != nil {
			return err
		}
	}
	hist := tx.Bucket(home.History)
	for _, version := range versionsOf(hist) {
		for _, k := range keys {
			if err := hist.Delete(append(slices.Clone(version), k...)); err != nil {
				return err
			}
		}
	}
	for i := range e.Lost {
		if err := e.Lost[i].drop(tx); err != nil {
			return err
		}
	}
	for i := range e.Versions {
		v := &e.Versions[i]
		if err := tx.Bucket(home.Versions).PutJSON(db.NumberKey(uint64(v.Number)), v); err != nil {
			return err
		}
	}
	for n, script := range e.Scripts {
		if err := tx.Bucket(home.Scripts).Put(db.NumberKey(uint64(n)), record.PackScript(script)); err != nil {
			return err
		}
	}
	return nil
}

// LostRecords are the records of a URL whose body is lost.
type LostRecords struct {
	URL    site.URL
	Before []uint64 // versions that replaced them; 0: none
}

// drop takes the body away from the records that have it, which are no part of the mirror then.
func (l *LostRecords) drop(tx *db.Tx) error {
	key := l.URL.Key(nil)
	for _, before := range l.Before {
		b, k := tx.Bucket(home.Resources), key
		if before > 0 {
			b, k = tx.Bucket(home.History), append(db.NumberKey(before), key...)
		}
		v := b.Get(k)
		if len(v) == 0 {
			continue
		}
		var r record.Resource
		if err := r.Decode(l.URL, v); err != nil {
			return err
		}
		r.InSet, r.Body, r.At, r.Digest, r.ETag, r.LastModified = false, record.NoBody, record.Place{},
			[32]byte{}, "", ""
		r.Outcome, r.Reason = site.Failed, "its stored body was lost on the disk, and was dropped"
		r.Expires, r.Evidence = 0, [len(r.Evidence)]uint64{} // so that nothing saves the request
		if err := b.Put(k, r.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// stub makes the record of a URL one that knows its number and who named it, and nothing of what it was.
func (e *Erasure) stub(tx *db.Tx, u site.URL, key []byte) error {
	b := tx.Bucket(home.Resources)
	v := b.Get(key)
	if v == nil {
		return nil
	}
	var r record.Resource
	if err := r.Decode(u, v); err != nil {
		return err
	}
	stub := record.Resource{
		ID:       r.ID,
		URL:      u,
		Outcome:  site.OutOfScope,
		Reason:   e.Reason,
		Run:      r.Run,
		Referrer: r.Referrer,
		Depth:    r.Depth,
		Requis:   r.Requis,
	}
	if err := b.Put(key, stub.Append(nil)); err != nil {
		return err
	}
	return tx.Bucket(home.Links).Delete(binary.BigEndian.AppendUint32(nil, r.ID))
}

// versionsOf lists the versions, as keys begin with them, that the history has records of.
func versionsOf(hist *db.Bucket) (out [][]byte) {
	c := hist.Cursor()
	for k, _ := c.First(); len(k) >= 8; {
		n := binary.BigEndian.Uint64(k)
		out = append(out, db.NumberKey(n))
		k, _ = c.Seek(db.NumberKey(n + 1))
	}
	return out
}
