// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// rebuiltBatch is how many records a transaction has.
const rebuiltBatch = 2048

// Refill makes the records of a new database of the published tree, and the database count. known is how many
// URLs that are.
func (s *Site) Refill() (known int, err error) {
	if err = (facts.CollectedRecords{Records: s.Records}).BeginPack(); err == nil {
		known, err = s.refill()
	}
	if err == nil {
		err = s.finishRefill()
	}
	return known, err
}

// finishRefill makes the database count. A tree whose name does not say that it was finished may be half
// built, which the lost database knew: the next build removes it.
func (s *Site) finishRefill() error {
	facts, err := fs.Glob(s.Root.FS(), home.LastingFact+"*")
	if err != nil {
		return disk.Err("list facts", err)
	}
	return s.Update("finish rebuild", func(tx *db.Tx) error {
		m := tx.Meta()
		for _, file := range facts {
			v, err := s.Root.ReadFile(file)
			if err == nil {
				err = m.Put([]byte("fact/"+strings.TrimPrefix(file, home.LastingFact)), v)
			}
			if err != nil {
				return err
			}
		}
		if err := trees.DistrustNext(m); err != nil {
			return err
		}
		return m.Put(home.KeyRebuilt, db.NumberKey(uint64(s.Now().Unix())))
	})
}

func (s *Site) refill() (known int, err error) {
	tree, err := s.Trees.Current()
	if errors.Is(err, record.ErrNoVersion) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer tree.Close()
	meta, err := phm.OpenMeta(tree.FS())
	if err != nil {
		return 0, err
	}
	var batch []record.Resource
	flush := func() error {
		err := s.Update("write records", func(tx *db.Tx) error {
			b := tx.Bucket(home.Resources)
			for i := range batch {
				if err := b.Put(batch[i].URL.Key(nil), batch[i].Append(nil)); err != nil {
					return err
				}
			}
			return tx.Meta().Put(db.KeyKnown, db.NumberKey(uint64(known))[4:])
		})
		batch = batch[:0]
		return err
	}
	table, err := tree.Open(phm.FilesName)
	if err != nil {
		return 0, disk.Err("read file table", err)
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err != nil {
			continue // one bad line costs its file alone
		}
		r, err := s.resourceOf(tree, f, uint32(known))
		if errors.Is(err, disk.ErrDamaged) {
			continue
		}
		if err != nil {
			return known, err
		}
		r.Fetched, r.Checked = meta.Retrieved.Unix(), meta.Retrieved.Unix()
		known++
		if batch = append(batch, r); len(batch) == rebuiltBatch {
			if err := flush(); err != nil {
				return known, err
			}
		}
	}
	if err := flush(); err != nil {
		return known, err
	}
	if err := s.Kept.Sync(); err != nil {
		return known, err
	}
	v := record.Version{
		Number: max(meta.Version, 1),
		Time:   meta.Retrieved,
		Files:  meta.Files,
		Bytes:  meta.Bytes,
	}
	if v.Meta, err = tree.ReadFile(phm.MetaName, regular.MaxSmall); err != nil {
		return known, disk.Err("read "+phm.MetaName, err)
	}
	return known, s.Update("write version", func(tx *db.Tx) error {
		k := db.NumberKey(uint64(v.Number))
		return errors.Join(tx.Bucket(home.Versions).PutJSON(k, v), tx.Meta().Put(home.KeyLive, k))
	})
}

// resourceOf makes the record of a published file. A document is known by name only.
func (s *Site) resourceOf(tree regular.Root, f *phm.File, id uint32) (record.Resource, error) {
	u, _, err := site.Parse(f.URL)
	if err != nil || len(f.URL) > record.MaxURL {
		return record.Resource{}, fmt.Errorf("%s: %w: its URL: %v", f.Path, disk.ErrDamaged, err)
	}
	r := record.Resource{ID: id, URL: u, Path: f.Path}
	d, err := hex.DecodeString(f.SHA256)
	if err != nil || len(d) != len(r.Digest) || relocate.MaySplice(f.Type, u, f.Path) {
		return r, nil
	}
	digest := [32]byte(d)
	if fi, err := s.Kept.Stat(digest); err != nil || !fi.Regular || fi.Size != f.Size {
		r.Size, r.Digest = f.Size, digest
		ok, err := s.takeFile(tree, f.Path, &r)
		if err != nil || !ok {
			return record.Resource{ID: id, URL: u, Path: f.Path}, err
		}
	}
	r.Outcome, r.Status, r.InSet, r.MIME, r.Size, r.Digest, r.Body = site.Fetched, http.StatusOK, true, f.Type,
		f.Size, digest, record.BlobBody
	if !f.Modified.IsZero() {
		r.Modified, r.LastModified = f.Modified.Unix(), f.Modified.UTC().Format(http.TimeFormat)
	}
	r.Name = f.Name()
	if v, ok := f.Extra[phm.SourceField]; ok { // its bytes, and so its date, are not the origin's
		r.LastModified = ""
		if json.Unmarshal(v, &r.Source) != nil {
			r.Source = f.URL
		}
	}
	return r, nil
}

// takeFile makes a file below a folder the body of a record, when it is.
func (s *Site) takeFile(root regular.Root, name string, r *record.Resource) (bool, error) {
	f, err := root.Open(name)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != r.Size {
		return false, nil
	}
	if right, err := blobs.HasDigest(f, r.Digest); !right || err != nil {
		return false, nil
	}
	return s.keepBody(r, func() error { return s.Kept.PutFile(r.Digest, root, name) })
}

// keepBody has put store the body of a record, instead of the damaged one.
func (s *Site) keepBody(r *record.Resource, put func() error) (bool, error) {
	missing, err := s.Kept.Discard(r.Digest)
	if missing && err == nil {
		if err = put(); err == nil {
			err = s.Kept.Sync()
		}
	}
	return err == nil, err
}
