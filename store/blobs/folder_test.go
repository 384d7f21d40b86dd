// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/store/disk"
)

// folder is a folder of blobs with the parts of one site, as a state and a site that is open have them.
type folder struct {
	blobs *Blobs
	parts *Parts
	dir   string
}

func openFolder(t testing.TB, dir string, durable bool) *folder {
	t.Helper()
	f := openBeside(t, dir, durable)
	if err := f.blobs.spool.Hold(); err != nil {
		t.Fatal(err)
	}
	return f
}

// openBeside is openFolder of a process that writes nothing yet.
func openBeside(t testing.TB, dir string, durable bool) *folder {
	t.Helper()
	site, tmp := filepath.Join(dir, "site"), filepath.Join(dir, "blobs/tmp")
	for _, name := range []string{site, tmp} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Dir(tmp))
	if err != nil {
		t.Fatal(err)
	}
	open, err := disk.NewOpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	of := PartsOf{
		Volatile: !durable,
		Now:      time.Now,
		Owned:    func() error { return nil },
	}
	if of.Root, err = os.OpenRoot(site); err != nil {
		t.Fatal(err)
	}
	b := Open(open, durable, func([32]byte) (*LeftBody, error) { return nil, os.ErrNotExist })
	return &folder{blobs: b, parts: OpenParts(b.spool, of), dir: dir}
}

func (f *folder) close(t testing.TB) {
	t.Helper()
	f.parts.Close()
	if err := f.blobs.Close(); err != nil {
		t.Error(err)
	}
}

// coming counts the bodies on their way in.
func (f *folder) coming(t testing.TB) (n int) {
	t.Helper()
	es, err := os.ReadDir(filepath.Join(f.dir, "blobs/tmp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if e.Name() != ".lock" {
			n++
		}
	}
	return n
}

// bodyOfSize is a body with bytes that follow from a seed.
func bodyOfSize(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}
