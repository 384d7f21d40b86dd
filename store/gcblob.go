// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// BlobsFreed says what CollectBlobs did, or would do.
type BlobsFreed struct {
	Blobs int   `json:"blobs"` // that are removed
	Freed int64 `json:"freed"` // bytes; a blob that a tree still links to frees nothing yet
	Kept  int   `json:"kept"`  // that something refers to
	// removed ones that still stand in a tree; the space is free when the tree changes
	Linked int `json:"linked"`
}

// CollectBlobs deletes the blobs that no record, history or unfinished run of any site refers to. All sites
// are held meanwhile: one that a process has open is ErrLocked, and one that cannot be read ends the call
// too, because its references are unknown; then nothing is deleted. With dry it only says what it would
// do, by views of the sites: blobs that a run has stored and not committed yet count as unused then. The
// caller must have no site open. Bodies of Options.Bodies are left alone: sites of other machines may
// refer to them.
func (s *State) CollectBlobs(ctx context.Context, dry bool) (f BlobsFreed, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("collect blobs: %w", err)
		}
	}()
	if s.opt.Bodies != nil {
		return f, nil
	}
	names, err := siteFolders(s)
	if err == nil && !dry {
		names, err = dropAside(s, names)
	}
	if err != nil {
		return f, err
	}
	var open []*Site
	defer func() {
		for _, o := range open {
			err = errors.Join(err, o.Close())
		}
	}()
	openSite := s.OpenSite
	if dry {
		openSite = func(name string) (*Site, error) { return s.openSite(name, viewing) }
	}
	for _, name := range names {
		_, err := s.root.Lstat("sites/" + name + "/" + siteDB)
		_, lerr := s.root.Lstat("sites/" + name + "/" + redoFolder)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(lerr, fs.ErrNotExist) {
			continue // a first run that was cut off before it stored anything
		}
		o, err := openSite(name)
		if err != nil {
			return f, err
		}
		open = append(open, o)
	}
	if dry {
		return s.Blobs.sweep(ctx, open, true)
	}
	alone, release, err := s.Spool.alone(len(open))
	if err != nil {
		return f, err
	}
	if !alone {
		return f, fmt.Errorf("a new site is being mirrored: %w", disk.ErrLocked)
	}
	defer release()
	if err := FinishRemovals(s); err != nil {
		return f, err
	}
	return s.Blobs.sweep(ctx, open, false)
}

// asideAge is after what time a site that was made aside is one that a killed process has left.
const asideAge = 24 * time.Hour

// dropAside removes sites that killed processes have left aside, and returns the names of the others.
func dropAside(s *State, names []string) (left []string, err error) {
	for _, name := range names {
		fi, serr := s.root.Lstat("sites/" + name + "/" + siteDB)
		old := serr == nil && s.opt.Now().Sub(fi.ModTime()) > asideAge
		if strings.HasPrefix(name, asideMark) && old {
			if rerr := s.RemoveSite(name); rerr == nil {
				continue
			} else if !errors.Is(rerr, disk.ErrLocked) {
				err = errors.Join(err, rerr)
			}
		}
		left = append(left, name)
	}
	return left, err
}

// sweep deletes what no site refers to. Unless dry, the caller must be the only writer of blobs.
func (b *Blobs) sweep(ctx context.Context, sites []*Site, dry bool) (f BlobsFreed, err error) {
	// Eight bytes of a digest are enough: two that agree in them keep a blob too many.
	var used []uint64
	for _, s := range sites {
		err := s.Records.bodied(ctx, func(r *record.Resource, _ bool) error {
			if r.Body == record.BlobBody {
				used = append(used, binary.BigEndian.Uint64(r.Digest[:]))
			}
			return nil
		})
		if err != nil {
			return f, fmt.Errorf("site %s: %w", s.Name, err)
		}
		slices.Sort(used)
		used = slices.Compact(used)
	}
	for n := range 256 {
		err := ctx.Err()
		for _, s := range sites {
			err = errors.Join(err, s.owned()) // another owner may refer to what these sites do not
		}
		if err != nil {
			return f, err
		}
		dir := hex.EncodeToString([]byte{byte(n)})
		names, err := fs.ReadDir(b.dir.Root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, disk.Err("list blobs", err)
		}
		for _, e := range names {
			d, err := hex.DecodeString(e.Name())
			if err != nil || len(d) != 32 || int(d[0]) != n || !e.Type().IsRegular() {
				continue // not ours
			}
			if _, ok := slices.BinarySearch(used, binary.BigEndian.Uint64(d)); ok {
				f.Kept++
				continue
			}
			if err := b.sweepOne(dir+"/"+e.Name(), dry, &f); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

func (b *Blobs) sweepOne(name string, dry bool, f *BlobsFreed) error {
	fi, err := b.dir.Root.Lstat(name)
	if err == nil && !dry {
		err = b.dir.Root.Remove(name)
		b.unsettle(name)
	}
	if err != nil {
		return disk.Err("remove blob", err)
	}
	f.Blobs++
	if links(fi) > 1 {
		f.Linked++
	} else {
		f.Freed += fi.Size()
	}
	return nil
}

// links is how many names a file has.
func links(fi os.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
