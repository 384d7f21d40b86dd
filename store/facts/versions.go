// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// The history of a site is kept backwards: with every version lie the records as they were before it, and the
// steps that lead its file table back to the one before. What a version was is the present with these laid
// over it, newest first.

// overlay is what records were in a version where they differ from now: key -> value, empty for "there was
// none".
type overlay map[string][]byte

// overlayAt gathers what lies over the present in a version.
func overlayAt(tx *db.Tx, version int) overlay {
	o := overlay{}
	// Ascending: the first record kept after the version is the one that was valid in it.
	for k, v := range tx.Bucket(home.History).From(db.NumberKey(uint64(version) + 1)) {
		if len(k) <= 8 {
			continue
		}
		if key := string(k[8:]); o[key] == nil {
			o[key] = append(make([]byte, 0, len(v)), v...)
		}
	}
	return o
}

// Versions is the published versions of a site, and what its records were in them.
type Versions struct {
	*home.Folder
	records *Records
}

// VersionsOf returns those of a site with some records.
func VersionsOf(s *Records) *Versions { return &Versions{Folder: s.Folder, records: s} }

// List lists the published versions, oldest first, with the one whose publish was decided. Their Meta must
// not be changed.
func (s *Versions) List() ([]record.Version, error) {
	var out []record.Version
	decided, err := s.Decided()
	if err != nil {
		return nil, err
	}
	err = s.Each(home.Versions, func(_, v []byte) error {
		out = append(out, record.Version{})
		if err := json.Unmarshal(v, &out[len(out)-1]); err != nil {
			return fmt.Errorf("versions of %s: %w: %v", s.Name, record.ErrValue, err)
		}
		return nil
	})
	return decided.With(out), err
}

// Last is the last version that List returns; the zero value without one.
func (s *Versions) Last() (record.Version, error) {
	vs, err := s.List()
	if err != nil || len(vs) == 0 {
		return record.Version{}, err
	}
	return vs[len(vs)-1], nil
}

// DatedRecord is the record of a URL in a version.
type DatedRecord struct {
	Version record.Version
	Record  record.Resource
	Known   bool // the URL was known then
}

// History returns the records of a URL in all kept versions, oldest first. It does not open the versions: one
// look-up for each.
func (s *Versions) History(u site.URL) ([]DatedRecord, error) {
	vs, err := s.List()
	if err != nil || len(vs) == 0 {
		return nil, err
	}
	return s.HistoryIn(vs, u)
}

// HistoryIn is History for one version or more that List returned: for many URLs, the list is read once.
func (s *Versions) HistoryIn(vs []record.Version, u site.URL) ([]DatedRecord, error) {
	out := make([]DatedRecord, len(vs))
	next := 0
	err := s.records.Ever(u, func(before uint64, r *record.Resource) {
		for ; next < len(vs) && (before == 0 || uint64(vs[next].Number) < before); next++ {
			out[next] = DatedRecord{Version: vs[next], Record: *r, Known: !r.URL.IsZero()}
		}
	})
	return out, err
}

// Past is a site as it was in one version. Its memory grows with what changed since. Safe for concurrent use.
type Past struct {
	Version int
	s       *Records
	o       overlay
}

// Past returns the records of a version. Those of the published version are the present ones, but for what an
// unpublished run has found.
func (s *Versions) Past(version int) (*Past, error) {
	p := &Past{Version: version, s: s.records}
	decided, err := s.Decided()
	if err != nil {
		return nil, err
	}
	key := db.NumberKey(uint64(version))
	err = s.DB.View(func(tx *db.Tx) error {
		if tx.Bucket(home.Versions).Get(key) == nil && !decided.Is(key) {
			return fmt.Errorf("version %d of %s: %w", version, s.Name, record.ErrNoVersion)
		}
		p.o = overlayAt(tx, version)
		return nil
	})
	return p, err
}

// Resources calls f for every record as it was, in key order; here is false for a URL that was not known
// then, of which r has only URL and ID. f must not keep r.
func (p *Past) Resources(f func(r *record.Resource, here bool) error) error {
	var r record.Resource
	list, err := p.s.looks.all()
	if err != nil {
		return err
	}
	return p.s.Each(home.Resources, func(k, v []byte) error {
		old, changed := p.o[string(k)]
		if changed && len(old) > 0 {
			v = old
		}
		if err := r.DecodeKeyed(k, v); err != nil {
			return err
		}
		if changed && len(old) == 0 {
			r = record.Resource{ID: r.ID, URL: r.URL}
			return f(&r, false)
		}
		if !changed { // records of the history had their looks when they were replaced
			record.ApplyLooks(list, &r)
		}
		return f(&r, true)
	})
}

// Changes calls f for every URL whose record has changed since, in key order: with the record as it was, and
// as it is now. The first has only URL and ID when the URL was not known then. f must not keep them.
func (p *Past) Changes(f func(was, now *record.Resource) error) error {
	for _, key := range slices.Sorted(maps.Keys(p.o)) {
		u, err := record.URLOfKey([]byte(key))
		if err != nil {
			return err
		}
		now, ok, err := p.s.Get(u)
		if err != nil {
			return err
		}
		if !ok { // taken out of all versions
			continue
		}
		was := record.Resource{ID: now.ID, URL: u}
		if old := p.o[key]; len(old) > 0 {
			if err := was.Decode(u, old); err != nil {
				return err
			}
		}
		if err := f(&was, &now); err != nil {
			return err
		}
	}
	return nil
}

// Get returns the record of a URL as it was; ok is false when it was not known then.
func (p *Past) Get(u site.URL) (r record.Resource, ok bool, err error) {
	old, changed := p.o[string(u.Key(nil))]
	switch {
	case !changed:
		return p.s.Get(u)
	case len(old) == 0:
		return r, false, nil
	}
	return r, true, r.Decode(u, old)
}

// Script returns the edit script of a version against the one before, as Publish got it.
func (s *Versions) Script(version int) ([]byte, error) {
	var packed []byte
	key := db.NumberKey(uint64(version))
	decided, err := s.Decided()
	if err != nil {
		return nil, err
	}
	if decided.Is(key) && (len(decided.Script) > 0) {
		return record.UnpackScript(decided.Script)
	}
	err = s.DB.View(func(tx *db.Tx) error {
		packed = slices.Clone(tx.Bucket(home.Scripts).Get(key))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return record.UnpackScript(packed)
}

// Restore makes the records what they were in a version, as part of the version to come: what it replaces
// goes into that one's history. The next publish then has the old content.
func (s *Versions) Restore(version, next int) error {
	// no look is left: those of later runs are of the bodies that are replaced
	if err := s.records.settle(0); err != nil {
		return err
	}
	return s.Update("restore records", func(tx *db.Tx) error {
		o := overlayAt(tx, version)
		res, hist := tx.Bucket(home.Resources), tx.Bucket(home.History)
		for _, k := range slices.Sorted(maps.Keys(o)) {
			cur := res.Get([]byte(k))
			var now, old record.Resource
			if err := now.DecodeKeyed([]byte(k), cur); err != nil {
				return err
			}
			if len(o[k]) > 0 {
				if err := old.Decode(now.URL, o[k]); err != nil {
					return err
				}
			} else {
				old = now // it was not known: it stays known, and is not in the mirror
				old.InSet = false
			}
			hk := append(db.NumberKey(uint64(next)), k...)
			if hist.Get(hk) == nil {
				if err := hist.Put(hk, slices.Clone(cur)); err != nil {
					return err
				}
			}
			old.Changed, old.Moved = next, next
			if err := res.Put([]byte(k), old.Append(nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drop forgets a version that is not the published one. What it alone held can be collected afterwards; the
// versions beside it stay as they are.
func (s *Versions) Drop(version int) error {
	return s.Update(fmt.Sprintf("drop version %d", version), func(tx *db.Tx) error {
		versions := tx.Bucket(home.Versions)
		k := db.NumberKey(uint64(version))
		if versions.Get(k) == nil {
			return fmt.Errorf("version %d: %w", version, record.ErrNoVersion)
		}
		if bytes.Equal(tx.Meta().Get(home.KeyLive), k) {
			return fmt.Errorf("version %d is the published one", version)
		}
		c := versions.Cursor()
		first, _ := c.First()
		c.Seek(k)
		next, _ := c.Next()
		oldest := bytes.Equal(first, k)
		next = slices.Clone(next)
		if err := mergeHistory(tx, k, next, oldest); err != nil {
			return err
		}
		if err := mergeScripts(tx, k, next, oldest); err != nil {
			return err
		}
		return versions.Delete(k)
	})
}

// mergeHistory moves the records of a version to the next version, which then refers to the one before
// both. The oldest version has no one before it: the references of the next one to it are removed.
func mergeHistory(tx *db.Tx, version, next []byte, oldest bool) error {
	hist := tx.Bucket(home.History)
	from := version
	if oldest {
		from = next
	}
	var keys, values [][]byte
	for k, v := range hist.From(from) {
		if !bytes.HasPrefix(k, from) {
			break
		}
		keys, values = append(keys, slices.Clone(k)), append(values, append([]byte{}, v...))
	}
	if err := deleteAll(hist, keys); err != nil || oldest {
		return err
	}
	for i, k := range keys {
		if err := hist.Put(append(slices.Clone(next), k[8:]...), values[i]); err != nil {
			return err
		}
	}
	return nil
}

func deleteAll(b *db.Bucket, keys [][]byte) error {
	for _, k := range keys {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// mergeScripts does the same for the edit scripts.
func mergeScripts(tx *db.Tx, version, next []byte, oldest bool) error {
	b := tx.Bucket(home.Scripts)
	if oldest {
		return b.Delete(next)
	}
	older, err := record.UnpackScript(b.Get(version))
	if err != nil {
		return err
	}
	newer, err := record.UnpackScript(b.Get(next))
	if err != nil {
		return err
	}
	merged, err := record.JoinScripts(older, newer)
	if err != nil {
		return err
	}
	return errors.Join(b.Delete(version), b.Put(next, record.PackScript(merged)))
}
