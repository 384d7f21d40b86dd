// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
)

// Located is an entry that a Reader found.
type Located struct {
	Entry
	Index  int
	Target int // index of the entry that it redirects to; -1 for none
	d      dirent
}

// Len is the number of entries.
func (z *Reader) Len() int { return int(z.Entries) }

// Old reports whether the namespaces are those of before 2021: A for pages, I for pictures and so on. Links
// name them.
func (z *Reader) Old() bool { return z.Major < 6 || z.Minor < 1 }

// At returns an entry by its index.
func (z *Reader) At(i int) (f Located, err error) {
	p, err := z.pointer(z.PathPtrs, i)
	if err != nil {
		return f, err
	}
	at := int64(p)
	if p < headerSize || p >= z.Sum {
		return f, damaged(int64(z.PathPtrs)+8*int64(i), "entry %d is said to be at byte %d", i, p)
	}
	z.in.Reset(io.NewSectionReader(z.r, at, int64(z.Sum)-at))
	d, err := readDirent(z.in)
	if err != nil {
		return f, damaged(at, "entry %d: %v", i, err)
	}
	if err := z.checkDirent(&d, i, at); err != nil {
		return f, err
	}
	e, target := z.entryOf(&d)
	return Located{e, i, target, d}, nil
}

// Find returns an entry by its namespace and path.
func (z *Reader) Find(namespace byte, path string) (f Located, ok bool, err error) {
	from, to := 0, z.Len()
	for from < to {
		i := from + (to-from)/2
		if f, err = z.At(i); err != nil {
			return f, false, err
		}
		switch c := cmp.Or(cmp.Compare(f.Namespace, namespace), cmp.Compare(f.Path, path)); {
		case c == 0:
			return f, true, nil
		case c < 0:
			from = i + 1
		default:
			to = i
		}
	}
	return Located{}, false, nil
}

// Follow follows redirects. ok is false when they do not end.
func (z *Reader) Follow(f Located) (to Located, ok bool, err error) {
	for range 32 {
		if f.Target < 0 {
			return f, true, nil
		}
		if f, err = z.At(f.Target); err != nil {
			return f, false, err
		}
	}
	return f, false, nil
}

// MainPage returns the main page, redirects followed.
func (z *Reader) MainPage() (f Located, ok bool, err error) {
	if z.header.MainPage >= z.Entries {
		return f, false, nil
	}
	if f, err = z.At(int(z.header.MainPage)); err != nil {
		return f, false, err
	}
	return z.Follow(f)
}

// Meta returns a short text of the metadata; "" for none.
func (z *Reader) Meta(name string) string {
	const most = 4 << 10
	f, ok, err := z.Find(Metadata, name)
	if err != nil || !ok || f.Target >= 0 {
		return ""
	}
	body, err := z.Blob(f)
	if err != nil {
		return ""
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, most))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// Totals is what a file was found to hold.
type Totals struct {
	Entries int // with content
	Bytes   int64
}

// mostClusters bounds the memory of a Survey.
const mostClusters = 16 << 20

// Survey reads all of a file: each entry and the order of them, the blobs of each cluster, and the MD5. wrong
// gets the errors.
func (z *Reader) Survey(wrong func(error)) (s Totals) {
	if z.Clusters > mostClusters {
		wrong(damaged(28, "%d clusters", z.Clusters))
		return s
	}
	blobs := make([]uint32, z.Clusters)
	for i := range z.Clusters {
		c, err := z.whole(i)
		if err != nil {
			wrong(err)
		}
		if errors.Is(err, ErrUnread) { // so are all others
			break
		} else if err != nil {
			continue
		}
		blobs[i] = uint32(len(c.offsets) - 1)
		s.Bytes += int64(c.end() - c.offsets[0])
	}
	var before Located
	for i := range z.Len() {
		f, err := z.At(i)
		if err != nil {
			wrong(err)
			continue
		}
		if i > 0 && !less(&before.d, &f.d) {
			wrong(z.unsorted(i, &before.d, &f.d))
		}
		if before = f; f.Target >= 0 || f.d.mime > maxTypes {
			continue
		}
		s.Entries++
		if n := blobs[f.d.cluster]; n > 0 && f.d.blob >= n {
			wrong(damaged(int64(z.PathPtrs)+8*int64(i), "entry %d, %c/%.200q, is blob %d of %d of its cluster", i,
				f.Namespace, f.Path, f.d.blob, n))
		}
	}
	if err := z.CheckSum(); err != nil {
		wrong(err)
	}
	return s
}

// whole reads a cluster to its end.
func (z *Reader) whole(i uint32) (*cluster, error) {
	c, err := z.readCluster(i)
	if err != nil || c.data != nil || c.info&0xf != zstdCluster {
		return c, err
	}
	at, _, err := z.bounds(i)
	if err != nil {
		return nil, err
	}
	in, free, err := z.unpacked(i)
	if err != nil {
		return nil, err
	}
	defer free()
	if _, err := io.CopyN(io.Discard, in, int64(c.end())); err != nil {
		return nil, damaged(at, "cluster %d: %v", i, err)
	}
	return c, nil
}

// pointer reads one pointer.
func (z *Reader) pointer(list uint64, i int) (uint64, error) {
	var b [8]byte
	at := int64(list) + 8*int64(i)
	if n, err := z.r.ReadAt(b[:], at); n < len(b) {
		return 0, damaged(at, "%v", err)
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// bounds returns where a cluster begins, and where it ends at the latest.
func (z *Reader) bounds(i uint32) (from, to int64, err error) {
	p, err := z.pointer(z.ClusterPtrs, int(i))
	if err != nil {
		return 0, 0, err
	}
	if p < headerSize || p >= z.Sum {
		return 0, 0, damaged(int64(z.ClusterPtrs)+8*int64(i), "cluster %d is said to be at byte %d", i, p)
	}
	to = int64(z.Sum)
	if i+1 < z.Clusters { // nearly always they follow one another
		next, err := z.pointer(z.ClusterPtrs, int(i)+1)
		if err != nil {
			return 0, 0, err
		}
		if next > p && next < z.Sum {
			to = int64(next)
		}
	}
	return int64(p), to, nil
}
