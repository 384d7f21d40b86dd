// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// Sizes is what a site takes on the disk, in bytes.
type Sizes struct {
	At        time.Time `json:"at"`        // when it was measured
	Bodies    int64     `json:"bodies"`    // published as they came; those that sites share count for each
	Documents int64     `json:"documents"` // packs with all versions of documents, heads, beginnings of files
	Trees     int64     `json:"trees"`     // files of the two trees that are no bodies
	Database  int64     `json:"database"`
}

// Total is all of it.
func (z *Sizes) Total() int64 { return z.Bodies + z.Documents + z.Trees + z.Database }

// Measure finds out what a site takes. It reads all records and looks at each file of the trees.
func Measure(s *Site) (z Sizes, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("measure site %s: %w", s.Name, err)
		}
	}()
	z.At = s.now().UTC()
	seen := map[uint64]bool{} // eight bytes of a digest are enough
	body := func(r *Resource) error {
		key := binary.BigEndian.Uint64(r.Digest[:])
		if r.Body == BlobBody && !seen[key] {
			seen[key] = true
			z.Bodies += r.Size
		}
		return nil
	}
	err = s.Versions.Every(body)
	if err == nil {
		err = s.Records.Replay(func(uint32, NewURL) error { return nil },
			func(r *Resource, _ []byte, _ bool) error { return body(r) })
	}
	if err != nil {
		return z, err
	}
	trees := fileSizes{}
	err = fs.WalkDir(s.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		fi, err := d.Info()
		switch {
		case err != nil:
			return ignoreGone(err)
		case strings.HasPrefix(p, "trees/"):
			trees.add(fi)
		case p == siteDB, strings.HasPrefix(p, siteDB+"."):
			z.Database += onDisk(fi)
		default:
			z.Documents += fi.Size()
		}
		return nil
	})
	z.Trees = trees.own()
	return z, diskErr("list files", err)
}

// onDisk is what a file takes: a database grows by pages that are not written yet.
func onDisk(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return min(fi.Size(), int64(st.Blocks)*512)
	}
	return fi.Size()
}

// ignoreGone leaves out what was removed in the meantime.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fileSizes are the files of trees, each with the names that it has there.
type fileSizes map[fileID]*namedFile

type fileID struct{ dev, ino uint64 }

type namedFile struct {
	size  int64
	names uint64 // in the trees
	links uint64 // in all
}

func (f fileSizes) add(fi os.FileInfo) {
	id := fileID{ino: uint64(len(f))}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		id = fileID{uint64(st.Dev), st.Ino}
	}
	if f[id] == nil {
		f[id] = &namedFile{size: fi.Size(), links: links(fi)}
	}
	f[id].names++
}

// own adds up the files that have no name elsewhere: what has one is a stored body.
func (f fileSizes) own() (sum int64) {
	for _, n := range f {
		if n.names >= n.links {
			sum += n.size
		}
	}
	return sum
}

// Grown is how many bytes of documents were appended since the site was opened.
func (s *Frames) Grown() int64 { return s.packs.grown.Load() }
