// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"mirrord/store/pages"
)

// Manifest says what a site's files consist of. It is stored as JSON in zstd.
type Manifest struct {
	Format   int       `json:"format"`
	Site     string    `json:"site"`
	Sequence uint64    `json:"sequence"`
	Files    []File    `json:"files"`
	Segments []Segment `json:"objects"`          // in which the chunks lie
	Bodies   []string  `json:"bodies,omitempty"` // objects in which the bodies lie that the site refers to
}

// File is one file: its chunks one after the other.
type File struct {
	Name   string  `json:"name"`
	Mode   uint32  `json:"mode"`
	Size   int64   `json:"size"`
	Chunks []Chunk `json:"chunks,omitempty"`
}

// Chunk is a piece of a file and where it lies: as it is, or as a zstd frame when Stored is smaller.
type Chunk struct {
	SHA256  SHA256 `json:"d"`
	Size    int64  `json:"n"`
	Segment int    `json:"o"` // number in Manifest.Segments
	At      int64  `json:"at"`
	Stored  int64  `json:"s"`
}

// Segment is an object with chunks.
type Segment struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// file returns a file by its name, nil when it is missing.
func (m *Manifest) file(name string) *File {
	if m == nil {
		return nil
	}
	for i := range m.Files {
		if m.Files[i].Name == name {
			return &m.Files[i]
		}
	}
	return nil
}

// chunks yields the chunks of a file, each with its offset.
func (f *File) chunks() iter.Seq2[int64, *Chunk] {
	return func(yield func(int64, *Chunk) bool) {
		at := int64(0)
		for i := range f.Chunks {
			if !yield(at, &f.Chunks[i]) {
				return
			}
			at += f.Chunks[i].Size
		}
	}
}

// encode returns the manifest as it is stored.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return newCodec().enc.EncodeAll(b, nil), nil
}

// decodeManifest reads a manifest, and checks all that its user relies on.
func decodeManifest(packed []byte) (*Manifest, error) {
	b, err := newCodec().dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	if m.Format > Version {
		return nil, fmt.Errorf("it has format %d; this mirrord knows %d", m.Format, Version)
	}
	seen := map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		if !isFileName(f.Name) || seen[f.Name] {
			return nil, fmt.Errorf("%q is no name of a file", f.Name)
		}
		seen[f.Name] = true
		size := int64(0)
		for _, c := range f.Chunks {
			if c.Segment < 0 || c.Segment >= len(m.Segments) || c.Size <= 0 || c.Size > maxChunk || c.Stored <= 0 ||
				c.Stored > c.Size || c.At < 0 || c.At > m.Segments[c.Segment].Size-c.Stored {
				return nil, fmt.Errorf("%s: a chunk lies nowhere", f.Name)
			}
			size += c.Size
		}
		if size != f.Size {
			return nil, fmt.Errorf("%s: its chunks have %d bytes of %d", f.Name, size, f.Size)
		}
	}
	return m, nil
}

// isFileName reports whether a file of that name can lie in the folder of a site.
func isFileName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsRune(name, 0)
}

// live is how many bytes of each object the manifest refers to.
func (m *Manifest) live() []int64 {
	live := make([]int64, len(m.Segments))
	for i := range m.Files {
		for _, c := range m.Files[i].Chunks {
			live[c.Segment] += c.Stored
		}
	}
	return live
}

// same reports whether another manifest is of the same files and bodies. Digests that were made since, as by
// the check-in itself, go with the next one that has something new.
func (m *Manifest) same(other *Manifest) bool {
	if other == nil || !slices.Equal(m.Bodies, other.Bodies) {
		return false
	}
	files := func(m *Manifest) []File {
		return slices.DeleteFunc(slices.Clone(m.Files), func(f File) bool { return f.Name == pages.DigestsFile })
	}
	return slices.EqualFunc(files(m), files(other), func(a, b File) bool {
		return a.Name == b.Name && a.Mode == b.Mode && slices.EqualFunc(a.Chunks, b.Chunks, func(x, y Chunk) bool {
			return x.SHA256 == y.SHA256 && x.Stored == y.Stored
		})
	})
}
