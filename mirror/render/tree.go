// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// FileState is what a look at a published file finds.
type FileState struct {
	Good    bool // it is what its line says
	Written bool // after its version was published
}

// LookAt compares a file of the published tree, whose folders l opens, with its line. It goes by what the
// file's folder says of it: that it is there, is a file, has its size, and was not written since the version
// was published. The bytes are read of a file that was, and of a suspect.
func LookAt(l *disk.OpenDirs, f *phm.File, live *record.Version, suspect bool) (FileState, error) {
	st, err := l.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return FileState{}, nil
	}
	if err != nil || !st.Regular || st.Size != f.Size {
		return FileState{}, err
	}
	written := WrittenSince(st, f, live)
	if !written && !suspect {
		return FileState{Good: true}, nil
	}
	file, err := l.Root.Open(f.Path)
	if err != nil {
		return FileState{Written: written}, nil
	}
	defer file.Close()
	return FileState{Good: hasDigest(file, f.SHA256), Written: written}, nil
}

// WrittenSince reports whether a file of a tree was written after a version was published, by its time.
// mirrord gives each file a time before that. live may be nil, when no version is published.
func WrittenSince(st disk.FileStat, f *phm.File, live *record.Version) bool {
	return (live != nil) && st.Time.After(live.Time) && !st.Time.Equal(f.Modified)
}

// hasDigest reads r to its end. What cannot be read has another digest.
func hasDigest(r io.Reader, want string) bool {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return (err == nil) && hex.EncodeToString(h.Sum(nil)) == want
}

// CheckTree looks at the published tree of a site as a run does, and changes nothing. Damage is
// store.ErrDamaged.
func CheckTree(m Material) error {
	tree, live, err := liveTree(m)
	if err != nil {
		return err
	}
	defer tree.Close()
	l := &disk.OpenDirs{Root: tree, Look: true}
	defer l.Close()
	return ScanTable(tree, MetaOf(live), func(f *phm.File) error {
		st, err := LookAt(l, f, live, false)
		if (err == nil) && !st.Good {
			err = fmt.Errorf("%s: %w", f.Path, disk.ErrDamaged)
		}
		return err
	})
}

// CheckMeta is CheckTree of what the tree says of itself, and of no file: the readers of these check them.
func CheckMeta(m Material) error {
	tree, _, err := liveTree(m)
	if err == nil {
		tree.Close() // read only
	}
	return err
}

// liveTree opens the published tree and returns its version, which its phm.json must be that of.
func liveTree(m Material) (tree regular.Root, live *record.Version, err error) {
	vs, err := m.Versions.List()
	if err != nil {
		return regular.Root{}, nil, err
	}
	if len(vs) == 0 {
		return regular.Root{}, nil, fmt.Errorf("site %s: %w", m.Name, record.ErrNoVersion)
	}
	live = &vs[len(vs)-1]
	tree, err = m.Trees.Current()
	if errors.Is(err, record.ErrNoVersion) {
		return regular.Root{}, nil, fmt.Errorf("current: %w: it is missing", disk.ErrDamaged)
	}
	if err != nil {
		return regular.Root{}, nil, err
	}
	raw, err := tree.ReadFile(phm.MetaName, regular.MaxSmall)
	other := (MetaOf(live) != nil) && !bytes.Equal(raw, live.Meta)
	if err != nil || other {
		tree.Close()
		return regular.Root{}, nil, fmt.Errorf("%s: %w", phm.MetaName, disk.ErrDamaged)
	}
	return tree, live, nil
}
