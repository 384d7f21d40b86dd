// SPDX-License-Identifier: Apache-2.0

package store

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mirrord/store/db"
)

// unpackOlder unpacks the states that a program of format 8 has left: "kept" has two versions of 30 pages,
// and a third run that was killed; "oneoff" has one version, of which the tree was moved out.
func unpackOlder(t *testing.T) (dir string) {
	t.Helper()
	f, err := os.Open("testdata/format8.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir = t.TempDir()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		case tar.TypeLink:
			err = os.Link(filepath.Join(dir, filepath.FromSlash(h.Linkname)), path)
		default:
			var b []byte
			if b, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, b, 0o640)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A state of format 8 can be read, and the first opening for writing makes it one of the present format, with
// its versions and its unfinished run.
func TestFormat8(t *testing.T) {
	dir := unpackOlder(t)
	for _, c := range []struct {
		state, site    string
		o              Options
		versions, runs int
	}{
		{"kept", "k", Options{}, 2, 3},
		{"oneoff", "127.0.0.1-8765", Options{Volatile: true, OneOff: true}, 1, 1},
	} {
		t.Run(c.state, func(t *testing.T) {
			st, err := OpenState(filepath.Join(dir, c.state), c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			for n, open := range []func(string) (*Site, error){st.ViewSite, st.OpenSite, st.ViewSite, st.OpenSite} {
				s, err := open(c.site)
				if err != nil {
					if n == 0 && errors.Is(err, db.ErrOldFormat) { // it says what to do
						continue
					}
					t.Fatal(err)
				}
				vs, err := s.Versions.List()
				runs, rerr := s.Notes.Runs()
				run, nerr := s.Notes.Run()
				unfinished := results(t, s)
				if err := errors.Join(err, rerr, nerr); err != nil {
					t.Fatal(err)
				}
				if len(vs) != c.versions || runs != c.runs || (run != nil) != (c.runs > c.versions) ||
					(unfinished > 0) != (run != nil) {
					t.Errorf("opened %d: %d versions, %d runs, run %+v with %d results", n, len(vs), runs, run, unfinished)
				}
				if known := len(resources(t, s)); known != 32 {
					t.Errorf("%d records", known)
				}
				if c.versions > 1 {
					verifyTest(t, s)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
