// SPDX-License-Identifier: Apache-2.0

package space

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mirrord/internal/regular"
)

// Names lists the spaces of a state, sorted.
func Names(state string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(state, Folder))
	if err != nil {
		return nil, gone(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Overlay are the pages of a mirror of which its space has files of their own. It does not change; it is
// safe for concurrent use.
type Overlay struct {
	Space string
	state string
	job   string
	stat  fs.FileInfo
	pages map[string]OverlayPage
}

// OverlayPage is the page that a space has instead of a published one.
type OverlayPage struct {
	Digest [sha256.Size]byte
	Size   int64
	from   [sha256.Size]byte
}

// OpenOverlay returns the pages of a mirror, nil when it is in no space. was is what was returned before,
// or nil: it is returned again when nothing has changed.
func OpenOverlay(state, mirror string, was *Overlay) (*Overlay, error) {
	if was != nil {
		d := disk{name: was.Space}
		fi, err := os.Stat(filepath.Join(state, d.note(mirror, pagesSuffix)))
		if err == nil && os.SameFile(fi, was.stat) && fi.ModTime().Equal(was.stat.ModTime()) {
			return was, nil
		}
	}
	var o *Overlay
	err := eachSpace(state, func(d *disk) (bool, error) {
		fi, err := d.root.Stat(d.note(mirror, pagesSuffix))
		if err != nil {
			return true, nil
		}
		pages, err := d.readPages(mirror)
		if err != nil {
			return false, err
		}
		o = &Overlay{
			Space: d.name,
			state: state,
			job:   mirror,
			stat:  fi,
			pages: make(map[string]OverlayPage, len(pages)),
		}
		return false, o.add(pages)
	})
	return o, err
}

func (o *Overlay) add(pages map[string]*Page) error {
	for _, p := range pages {
		op := OverlayPage{Size: p.Size}
		n, err := hex.Decode(op.Digest[:], []byte(p.SHA256))
		k, ferr := hex.Decode(op.from[:], []byte(p.From))
		if err != nil || ferr != nil || n != sha256.Size || k != sha256.Size {
			return fmt.Errorf("pages of %s: %w", o.job, errIndex)
		}
		o.pages[p.Path] = op
	}
	return nil
}

// Page returns the page that the space has instead of a published file.
func (o *Overlay) Page(path string, published [sha256.Size]byte) (OverlayPage, bool) {
	p, ok := o.pages[path]
	return p, ok && p.from == published
}

// OpenLast opens the last copy at a path of the mirror, see LastFolder. fs.ErrNotExist reports that it is
// missing.
func (o *Overlay) OpenLast(p string) (f *os.File, mime string, err error) {
	root, err := regular.OpenRoot(o.state)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	d := disk{root: root, name: o.Space}
	var n note
	if _, err := d.readJSON(d.note(o.job, ".json"), &n); err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(n.Last, func(l LastCopy) bool { return l.Path == p })
	if i < 0 {
		return nil, "", fs.ErrNotExist
	}
	f, err = root.Open(d.file(o.job, p))
	return f, n.Last[i].Type, err
}

// Open opens the page of the space at a path when it has that digest; ok is false for other pages.
// fs.ErrNotExist says that the space has another one by now.
func (o *Overlay) Open(path string, digest [sha256.Size]byte) (f *os.File, ok bool, err error) {
	p, ok := o.pages[path]
	if !ok || p.Digest != digest {
		return nil, false, nil
	}
	d := disk{name: o.Space}
	f, err = regular.Open(filepath.Join(o.state, d.body(o.job, hex.EncodeToString(digest[:]))))
	if err != nil {
		return nil, true, err
	}
	fi, err := f.Stat()
	if err == nil && (fi.Size() != p.Size || !fi.Mode().IsRegular()) {
		err = fmt.Errorf("%s: the page of the space is damaged", path)
	}
	if err != nil {
		return nil, true, errors.Join(err, f.Close())
	}
	return f, true, nil
}
