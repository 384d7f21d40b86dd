// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mirrord/phm"
	"mirrord/store"
)

// The file table of the published version lies in the tree. The database has its digest, in the phm.json that is kept with each version, so a
// table that is missing or damaged is noticed, and can be made again of the records and the stored bodies.

// metaOf reads the phm.json that is kept with a version; nil when there is none, as after a rebuild by older versions of mirrord.
func metaOf(v *store.Version) *phm.Meta {
	m, err := phm.ReadMeta(bytes.NewReader(v.Meta))
	if err != nil {
		return nil
	}
	return m
}

// scanTable calls f for each line of the file table of a tree, and then compares the whole with what phm.json says of it: what f was told counts
// only when the error is nil. A table that is missing or wrong is store.ErrDamaged.
func scanTable(tree *os.Root, m *phm.Meta, f func(*phm.File) error) error {
	file, err := tree.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it is missing", phm.FilesName, store.ErrDamaged)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	digest := sha256.New()
	files, size := 0, int64(0)
	for line, err := range phm.Files(io.TeeReader(file, digest)) {
		var bad *phm.LineError
		if errors.As(err, &bad) {
			return fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if err != nil {
			return err
		}
		files++
		size += line.Size
		if err := f(line); err != nil {
			return err
		}
	}
	switch got := hex.EncodeToString(digest.Sum(nil)); {
	case m == nil:
	case (m.TableSum != "") && m.TableSum != got:
		return fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", phm.FilesName, store.ErrDamaged, got, m.TableSum)
	case m.Files != files || m.Bytes != size:
		return fmt.Errorf("%s: %w: it has %d files of %d bytes, not %d of %d", phm.FilesName, store.ErrDamaged, files, size, m.Files, m.Bytes)
	}
	return nil
}

// liveFiles returns the file table of the published version: that of the tree, or, when it is damaged, one that is made again.
func liveFiles(st *store.State, s *store.Site, live *store.Version) ([]phm.File, error) {
	tree, err := s.Current()
	if err == nil {
		defer tree.Close()
		var files []phm.File
		err = scanTable(tree, metaOf(live), func(f *phm.File) error {
			files = append(files, *f)
			return nil
		})
		if err == nil {
			return files, nil
		}
	}
	if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrNoVersion) {
		return nil, err
	}
	p, derr := derivePast(st, s, live)
	if derr != nil {
		return nil, fmt.Errorf("%w; it cannot be made again: %w", err, derr)
	}
	return p.files, nil
}

// derivePast makes the published version of the records and the stored bodies alone. The digest in its phm.json tells whether it is the same.
func derivePast(st *store.State, s *store.Site, live *store.Version) (*PastFS, error) {
	m := metaOf(live)
	if m == nil || m.TableSum == "" {
		return nil, fmt.Errorf("%w: no digest of its file table is kept", store.ErrDamaged)
	}
	past, err := s.Past(live.Number)
	if err != nil {
		return nil, err
	}
	for _, all := range []records{past.Resources, presentRecords(s)} {
		p := newPast(st, s, *live)
		if err = p.derive(all); errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d := sha256.Sum256(p.table); hex.EncodeToString(d[:]) == m.TableSum {
			return p, nil
		}
		err = fmt.Errorf("%w: the stored bodies make another table than it was", store.ErrDamaged)
	}
	return nil, err
}

// derive makes the table by relocating every document.
func (p *PastFS) derive(all records) error {
	if err := p.load(all); err != nil {
		return err
	}
	sp := &splicer{r: p.r, was: map[int32]cure{}, large: store.NewFrameReader()}
	frames := store.NewFrameReader()
	err := all(func(rec *store.Resource, here bool) error {
		if !here || !rec.InSet || rec.Path == "" || rec.Body == store.NoBody {
			return nil
		}
		f, err := sp.line(rec, rec.Path)
		if (err == nil) && rec.Body == store.PackBody {
			_, err = sp.relocate(frames, rec, &f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", rec.URL, err)
		}
		p.files = append(p.files, f)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(p.files, func(a, b phm.File) int { return strings.Compare(a.Path, b.Path) })
	p.bodies = make([]pastBody, len(p.files))
	if err := p.writeTable(); err != nil {
		return err
	}
	return all(func(rec *store.Resource, here bool) error {
		if i, ok := p.find(rec.Path); ok && here && rec.InSet {
			p.bodies[i] = pastBody{rec.Body, rec.ID, rec.At, mtime(rec).Unix()}
		}
		return nil
	})
}
