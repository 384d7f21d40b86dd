// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/internal/regular"
	"mirrord/store/blobs"
	"mirrord/store/home"
)

// A loss of power left a body with the right name and size, and other bytes: it is replaced when the body
// comes again, on each way.
func TestWrongBlobIsReplaced(t *testing.T) {
	body := random(5000, 1)
	d := sha256.Sum256(body)
	for name, put := range map[string]func(t *testing.T, b *blobs.Blobs) error{
		"Put": func(_ *testing.T, b *blobs.Blobs) error { return b.Put(d, body, at(1)) },
		"PutFile": func(t *testing.T, b *blobs.Blobs) error {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file"), body, 0o644); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			return b.PutFile(d, regular.Root{Root: root}, "file")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st, _ := openTest(t, dir, Options{})
			p := filepath.Join(dir, "blobs", hex.EncodeToString(d[:1]), hex.EncodeToString(d[:]))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, make([]byte, len(body)), 0o644); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := put(t, st.Bodies); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(p); (err != nil) || !bytes.Equal(got, body) {
					t.Errorf("the blob is still wrong: %v", err)
				}
			}
		})
	}
}

// A database that lost power while it was made is made again; one that was committed to is damaged.
func TestUnbornDatabase(t *testing.T) {
	page := os.Getpagesize()
	name := filepath.Join(t.TempDir(), home.SiteDB)
	db, err := bolt.Open(name, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	newborn, err := os.ReadFile(name)
	if (err != nil) || (len(newborn) != 4*page) {
		t.Fatalf("%d bytes, %v", len(newborn), err)
	}
	torn := bytes.Clone(newborn)
	clear(torn[page : page+1024])
	clear(torn[2*page:])
	for _, c := range []struct {
		name  string
		bytes []byte
		ok    bool
	}{
		{"half a page", newborn[:page/2], true},
		{"zeros", make([]byte, 4*page), true},
		{"torn", torn, true},
		{"other bytes", random(3*page, 1), false},
		{"longer", make([]byte, 5*page), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "sites/x/packs"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "sites/x", home.SiteDB), c.bytes, 0o640); err != nil {
				t.Fatal(err)
			}
			st, err := OpenState(dir, Options{Wait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			s, err := st.OpenSite("x")
			if (err == nil) != c.ok {
				t.Errorf("opened: %v", err)
			}
			if err == nil {
				s.Close()
			}
		})
	}
	t.Run("committed to", func(t *testing.T) {
		dir, path := sealedSite(t)
		want := content(t, path)
		if err := os.WriteFile(path, torn, 0o640); err != nil {
			t.Fatal(err)
		}
		if run, _ := opened(t, dir); run != nil {
			t.Fatal(run)
		}
		if got := content(t, path); !maps.Equal(got, want) {
			t.Errorf("the database holds %q, want %q", got, want)
		}
	})
}
