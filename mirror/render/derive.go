// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// liveFiles returns the file table of the published version: that of the tree, or, when it is damaged, one
// that is made again.
func liveFiles(m Material, live *record.Version) ([]phm.File, error) {
	tree, err := m.Trees.Current()
	if err == nil {
		defer tree.Close()
		var files []phm.File
		err = ScanTable(tree, MetaOf(live), func(f *phm.File) error {
			files = append(files, *f)
			return nil
		})
		if err == nil {
			return files, nil
		}
	}
	if !errors.Is(err, disk.ErrDamaged) && !errors.Is(err, record.ErrNoVersion) {
		return nil, err
	}
	p, derr := DerivePast(m, live)
	if derr != nil {
		return nil, fmt.Errorf("%w; it cannot be made again: %w", err, derr)
	}
	return p.files, nil
}

// DerivePast makes the published version of the records and the stored bodies alone. The digest in its
// phm.json tells whether it is the same; if not, the error is store.ErrDamaged.
func DerivePast(m Material, live *record.Version) (*PastFS, error) {
	meta := MetaOf(live)
	if meta == nil || meta.TableSum == "" {
		return nil, fmt.Errorf("%w: no digest of its file table is kept", disk.ErrDamaged)
	}
	past, err := m.Versions.Past(live.Number)
	if err != nil {
		return nil, err
	}
	for _, all := range []records{past.Resources, presentRecords(m.Records)} {
		p := newPast(m, *live)
		if err = p.derive(all); errors.Is(err, disk.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d := sha256.Sum256(p.table); hex.EncodeToString(d[:]) == meta.TableSum {
			return p, nil
		}
		err = fmt.Errorf("%w: the stored bodies make another table than it was", disk.ErrDamaged)
	}
	return nil, err
}

// derive makes the table by rendering every document.
func (p *PastFS) derive(all records) error {
	if err := p.load(all); err != nil {
		return err
	}
	sp := p.render.Splicer()
	err := all(func(rec *record.Resource, here bool) error {
		noFile := !rec.InSet || rec.Path == "" || rec.Body == record.NoBody
		if !here || noFile {
			return nil
		}
		f, err := p.render.Line(rec, rec.Path)
		if (err == nil) && rec.Body == record.PackBody {
			var doc *Rendered
			if doc, err = sp.Document(rec, &f); err == nil {
				err = doc.Complete()
				doc.Close()
			}
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
	slices.SortFunc(p.files, phm.ByPath)
	p.bodies = make([]pastBody, len(p.files))
	if err := p.writeTable(); err != nil {
		return err
	}
	return all(func(rec *record.Resource, here bool) error {
		if i, ok := p.find(rec.Path); ok && here && rec.InSet {
			p.bodies[i] = bodyOf(rec)
		}
		return nil
	})
}

// Table is phm.files of the version. The bytes are not to be changed.
func (p *PastFS) Table() []byte { return p.table }

// Restore makes files of a version in a tree from the stored bodies. It returns the paths of those that it
// made, and the files whose stored bodies are damaged.
func Restore(
	ctx context.Context, m Material, v *record.Version, files []phm.File, w *trees.TreeWriter,
) (made []string, damaged []phm.File, err error) {
	past, err := m.Versions.Past(v.Number)
	if err != nil {
		return nil, nil, err
	}
	damaged = files
	for _, all := range []records{past.Resources, presentRecords(m.Records)} {
		if len(damaged) == 0 {
			break
		}
		p := newPast(m, *v)
		p.files = damaged
		if err := p.load(all); err != nil {
			return nil, nil, err
		}
		var still []phm.File
		for i := range damaged {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			switch err := p.place(w, i); {
			case errors.Is(err, disk.ErrDamaged):
				still = append(still, damaged[i])
			case err != nil:
				return nil, nil, err
			default:
				made = append(made, damaged[i].Path)
			}
		}
		damaged = still
	}
	return made, damaged, nil
}

// place makes file i of the version in a tree, when the stored body is good. A body for which there is no
// record may be a blob.
func (p *PastFS) place(w *trees.TreeWriter, i int) error {
	f, b := &p.files[i], &p.bodies[i]
	if b.kind == record.PackBody {
		doc, err := p.document(f, b)
		if err != nil {
			return err
		}
		defer doc.Close()
		return w.Stream(f.Path, time.Unix(b.time, 0), func(to io.Writer) error {
			_, err := io.Copy(to, doc)
			return err
		})
	}
	blob, err := p.open(f, &pastBody{kind: record.BlobBody})
	if err != nil {
		return err
	}
	defer blob.Close()
	if !hasDigest(blob, f.SHA256) {
		return fmt.Errorf("%s: %w: its blob has other bytes", f.Path, disk.ErrDamaged)
	}
	d, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return err
	}
	return w.LinkBlob(f.Path, [32]byte(d))
}
