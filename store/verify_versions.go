// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mirrord/store/record"
)

// history checks the records of older versions. Their bodies are checked only when deep: they are needed for
// looking back alone.
func (v *verifier) history() error {
	vs, err := v.s.Versions.List()
	if err != nil {
		v.problem(BadVersion, "", "%v", err)
	} else if len(vs) > 0 {
		v.live = vs[len(vs)-1].Number
	}
	var r record.Resource
	return v.s.each(bHistory, func(k, val []byte) error {
		if err := v.ended(); err != nil {
			return err
		}
		if len(k) < 8 {
			v.problem(BadHistory, fmt.Sprintf("%x", k), "the key has no version")
			return nil
		}
		n := binary.BigEndian.Uint64(k)
		u, err := record.URLOfKey(k[8:])
		if err != nil {
			v.problem(BadHistory, fmt.Sprintf("%q", k), "%v", err)
			return nil
		}
		if n < 2 || n > uint64(v.live)+1 {
			v.problem(BadHistory, u.String(), "it is of version %d, the published one is %d", n, v.live)
		}
		if len(val) == 0 {
			return nil
		}
		if err := r.Decode(u, val); err != nil {
			v.problem(BadHistory, u.String(), "%v", err)
			return nil
		}
		if v.deep && r.InSet {
			v.record(BadHistory, &r)
		}
		return nil
	})
}

// versions checks the list of versions and their edit scripts.
func (v *verifier) versions() error {
	last := 0
	return v.s.db.View(func(tx *transaction) error {
		c := tx.Bucket(bVersions).Cursor()
		for k, val := c.First(); k != nil; k, val = c.Next() {
			v.st.Versions++
			name := fmt.Sprintf("%x", k)
			var x Version
			if err := json.Unmarshal(val, &x); err != nil {
				v.problem(BadVersion, name, "%v", err)
				continue
			}
			if len(k) != 8 || binary.BigEndian.Uint64(k) != uint64(x.Number) || x.Number <= last {
				v.problem(BadVersion, name, "it says that it is version %d, after %d", x.Number, last)
			}
			last = x.Number
		}
		if k := tx.Bucket(bMeta).Get(kLive); last > 0 &&
			(len(k) != 8 || binary.BigEndian.Uint64(k) != uint64(last)) {
			v.problem(BadVersion, "", "the published version is %x, the last one is %d", k, last)
		}
		c = tx.Bucket(bScripts).Cursor()
		for k, val := c.First(); k != nil; k, val = c.Next() {
			name := fmt.Sprintf("script %x", k)
			if len(k) != 8 || tx.Bucket(bVersions).Get(k) == nil {
				v.problem(BadVersion, name, "there is no such version")
			}
			if _, err := unpackScript(val); err != nil {
				v.problem(BadVersion, name, "%v", err)
			}
		}
		return nil
	})
}

// current checks that the link names a tree exactly when a version is published.
func (v *verifier) current() error {
	name, err := v.s.Trees.live()
	if err != nil {
		v.problem(BadCurrent, currentLink, "%v", err)
		return nil
	}
	pending := false
	err = v.s.db.View(func(tx *transaction) error {
		pending = tx.Bucket(bMeta).Get(kPublish) != nil
		building := strings.Fields(string(tx.Bucket(bMeta).Get(kBuild)))
		if slices.Contains(building, name) && !pending {
			v.problem(BadCurrent, currentLink, "it names a tree that is being changed")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case name == "" && v.st.Versions > 0 && !pending:
		v.problem(BadCurrent, currentLink, "it is missing, although a version is published")
	case name == "":
	case v.st.Versions == 0 && !pending:
		v.problem(BadCurrent, currentLink, "it names tree %s, although no version is published", name)
	default:
		fi, err := v.s.root.Lstat(treesFolder + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			v.problem(BadCurrent, currentLink, "it names tree %s, which is missing", name)
		} else if err != nil {
			return err
		} else if !fi.IsDir() {
			v.problem(BadCurrent, currentLink, "tree %s is no directory", name)
		}
	}
	return nil
}
