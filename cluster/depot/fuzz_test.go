// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"mirrord/cluster/objects"
)

// A manifest is refused, or each chunk is in an object, and each name is one of a file below the site's
// folder.
func FuzzManifest(f *testing.F) {
	m := &Manifest{
		Format:   Version,
		Site:     "x",
		Sequence: 1,
		Files: []File{{Name: "packs/000001.pack", Size: 7, Chunks: []Chunk{
			{Size: 4, Stored: 4},
			{Size: 3, At: 4, Stored: 2},
		}}},
		Segments: []Segment{{Name: "data/x/y", Size: 6}},
	}
	packed, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, packed []byte) {
		m, err := decodeManifest(packed)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			if !filepath.IsLocal(file.Name) {
				t.Errorf("%q", file.Name)
			}
			for _, c := range file.Chunks {
				if end := c.At + c.Stored; end > m.Segments[c.Segment].Size || end < 0 || c.Size > maxChunk {
					t.Errorf("%+v", c)
				}
			}
		}
		if live := m.live(); len(live) != len(m.Segments) {
			t.Error(live)
		}
	})
}

// A pack of bodies is refused or valid.
func FuzzBodies(f *testing.F) {
	p := &bodyPack{}
	b := NewBodies(f.Context(), nil)
	for i, text := range []string{"one", "two", ""} {
		size := int64(len(text))
		p.index.Bodies = append(p.index.Bodies, bodyEntry{Size: size, Stored: size, Modified: int64(i)})
		p.places = append(p.places, &bodyPlace{data: []byte(text)})
	}
	_, data, _, err := p.encode(b.codec.enc)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, err := objects.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			return
		}
		if _, err := dir.Put(t.Context(), "bodies/x", objects.Bytes(data), objects.Condition{}); err != nil {
			t.Fatal(err)
		}
		b := NewBodies(t.Context(), dir)
		if err := b.load(t.Context(), []string{"bodies/x"}); err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
			return
		}
		for digest, p := range b.places {
			if p.modified.IsZero() {
				t.Error(p)
			}
			_, _ = b.read(digest, p)
		}
	})
}

// A large body whose object the next collection removes is put again under another name.
func TestCondemnedLargeBody(t *testing.T) {
	t.Parallel()
	dir, err := objects.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	body, modified := make([]byte, largeBody), time.Unix(1, 0)
	digest := digestOf(body)
	b := NewBodies(t.Context(), dir)
	if err := b.putLarge(digest, objects.Bytes(body), modified); err != nil {
		t.Fatal(err)
	}
	condemned := b.place(digest).object
	b = NewBodies(t.Context(), dir)
	b.avoid(map[string]bool{condemned: true})
	if err := b.load(t.Context(), []string{condemned}); err != nil || b.place(digest) != nil {
		t.Fatal("the condemned object counts:", err)
	}
	if err := b.putLarge(digest, objects.Bytes(body), modified); err != nil {
		t.Fatal(err)
	}
	p := b.place(digest)
	if p == nil || p.object == condemned {
		t.Fatalf("it lies at %+v", p)
	}
	if err := b.check(digest, p); err != nil {
		t.Error(err)
	}
}
