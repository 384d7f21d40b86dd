// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"
)

// Sizes is what a site takes on the disk, in bytes.
type Sizes struct {
	At        time.Time `json:"at"`        // when it was measured
	Bodies    int64     `json:"bodies"`    // published as they came; those that sites share count for each
	Documents int64     `json:"documents"` // packs with all versions of documents, heads, beginnings of files
	Trees     int64     `json:"trees"`     // files of the published version that are no bodies
	Database  int64     `json:"database"`  // with its log
}

// Total is all of it.
func (z *Sizes) Total() int64 { return z.Bodies + z.Documents + z.Trees + z.Database }

// Measure finds out what a site takes. It reads all records, and looks at no file of the trees: what the next
// tree has of its own is not counted.
func Measure(s *Site) (z Sizes, err error) {
	defer explain(&err, "measure site %s", s.Name)
	z.At = s.now().UTC()
	seen := map[uint64]bool{} // eight bytes of a digest are enough
	err = s.Records.Bodied(context.Background(), func(r *record.Resource, _ bool) error {
		key := binary.BigEndian.Uint64(r.Digest[:])
		if r.Body == record.BlobBody && !seen[key] {
			seen[key] = true
			if !s.away.hasOnly(r.Digest, s.kept) {
				z.Bodies += r.Size
			}
		}
		return nil
	})
	if err != nil {
		return z, err
	}
	if z.Trees, err = publishedDocuments(s); err != nil {
		return z, err
	}
	for _, dir := range []string{".", "packs", blobs.PartsDir, log.Folder} {
		if err := z.addFiles(s.root, dir, s.away); err != nil {
			return z, disk.Err("list files", err)
		}
	}
	return z, nil
}

// publishedDocuments is how many bytes the published version has in files that are no stored bodies.
func publishedDocuments(s *Site) (sum int64, err error) {
	vs, err := s.Versions.List()
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	sum = vs[len(vs)-1].Bytes
	err = s.Records.Resources(func(r *record.Resource) error {
		if r.InSet && r.Body == record.BlobBody {
			sum -= r.Size
		}
		return nil
	})
	return max(sum, 0), err
}

// addFiles adds the files of a folder of the site, but not those below it. Packs of which parts lie in a
// depot have holes.
func (z *Sizes) addFiles(root *os.Root, dir string, away *awaySite) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return disk.UnlessGone(err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		switch {
		case err != nil:
			err = disk.UnlessGone(err)
		case !fi.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), siteDB), dir == log.Folder:
			z.Database += onDisk(fi)
		case away.Lists(disk.NumberOf(e.Name(), bodies.PackName)):
			z.Documents += onDisk(fi)
		default:
			z.Documents += fi.Size()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onDisk is what a file takes: a database grows by pages that are not written yet.
func onDisk(fi os.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return min(fi.Size(), int64(st.Blocks)*512)
	}
	return fi.Size()
}
