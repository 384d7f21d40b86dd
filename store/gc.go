// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/log"
)

// CollectBlobs deletes the blobs that no record, history or unfinished run of any site refers to. All sites
// are held meanwhile: one that a process has open is ErrLocked, and one that cannot be read ends the call
// too, because its references are unknown; then nothing is deleted. With dry it only says what it would
// do, by views of the sites: blobs that a run has stored and not committed yet count as unused then. The
// caller must have no site open.
func (s *State) CollectBlobs(ctx context.Context, dry bool) (f blobs.BlobsFreed, err error) {
	defer disk.Explain(&err, "collect blobs")
	names, err := s.AllSites()
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
		_, err := s.Root.Lstat("sites/" + name + "/" + home.SiteDB)
		_, lerr := s.Root.Lstat("sites/" + name + "/" + log.Folder)
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
		return sweepBlobs(ctx, s, open, true)
	}
	alone, release, err := s.Spool.Alone(len(open))
	if err != nil {
		return f, err
	}
	if !alone {
		return f, fmt.Errorf("a new site is being mirrored: %w", disk.ErrLocked)
	}
	defer release()
	if err := s.FinishRemovals(); err != nil {
		return f, err
	}
	return sweepBlobs(ctx, s, open, false)
}

// asideAge is after what time a site that was made aside is one that a killed process has left.
const asideAge = 24 * time.Hour

// dropAside removes sites that killed processes have left aside, and returns the names of the others.
func dropAside(s *State, names []string) (left []string, err error) {
	for _, name := range names {
		fi, serr := s.Root.Lstat("sites/" + name + "/" + home.SiteDB)
		old := serr == nil && s.Now().Sub(fi.ModTime()) > asideAge
		if strings.HasPrefix(name, home.AsideMark) && old {
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

// sweepBlobs deletes the blobs that none of some sites refers to.
func sweepBlobs(ctx context.Context, s *State, sites []*Site, dry bool) (f blobs.BlobsFreed, err error) {
	// Eight bytes of a digest are enough: two that agree in them keep a blob too many.
	var used []uint64
	for _, site := range sites {
		err := facts.UsedBodies(ctx, site.Records, func(digest [32]byte) error {
			used = append(used, binary.BigEndian.Uint64(digest[:]))
			return nil
		})
		if err != nil {
			return f, fmt.Errorf("site %s: %w", site.Name, err)
		}
		slices.Sort(used)
		used = slices.Compact(used)
	}
	return s.Bodies.Sweep(func(d []byte) bool {
		_, is := slices.BinarySearch(used, binary.BigEndian.Uint64(d))
		return is
	}, func() error {
		err := ctx.Err()
		for _, site := range sites {
			err = errors.Join(err, site.Owned()) // another owner may refer to what these sites do not
		}
		return err
	}, dry)
}
