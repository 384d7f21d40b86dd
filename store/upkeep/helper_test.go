// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// openTest makes a site of its parts in a folder, as a state has it, and opens no state. The end of the test
// closes it.
func openTest(t testing.TB, dir string) *Site {
	t.Helper()
	state, err := os.OpenRoot(dir)
	must(t, err)
	for _, d := range []string{"blobs/tmp", "sites/x/packs", "sites/x/" + trees.Dir} {
		must(t, state.MkdirAll(d, 0o755))
	}
	kept, err := state.OpenRoot("blobs")
	must(t, err)
	root, err := state.OpenRoot("sites/x")
	must(t, err)
	must(t, state.Close())
	folder, err := disk.NewOpenDir(kept)
	must(t, err)
	f := &home.Folder{
		Name: "x",
		Dir:  filepath.Join(dir, "sites/x"),
		Root: root,
		Now:  time.Now,
	}
	f.DB, err = db.Open(db.Options{
		Path:  filepath.Join(f.Dir, home.SiteDB),
		Site:  "x",
		Mode:  0o600,
		Depth: 1,
		Fresh: true,
	})
	must(t, err)
	must(t, f.DB.Follow(root))
	must(t, f.DB.Update(func(tx *db.Tx) error {
		for _, b := range [][]byte{db.Meta, home.Resources, home.Links, home.History, home.Versions, home.Scripts,
			home.Observed, home.Looks} {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		return nil
	}))
	packs, err := root.OpenRoot("packs")
	must(t, err)
	s := &Site{
		Folder: f,
		Frames: &bodies.Frames{Packs: bodies.Open(packs, nil)},
		Kept: blobs.Open(folder, false, func([32]byte) (*blobs.LeftBody, error) {
			return nil, fs.ErrNotExist
		}),
	}
	s.Heads, err = s.Frames.OpenHeads(root)
	must(t, err)
	s.Records = facts.Of(f, s.Frames, s.Heads)
	s.Versions = facts.VersionsOf(s.Records)
	s.Trees = trees.Of(f, s.Kept)
	must(t, errors.Join(f.DB.BeginLog(), s.Frames.Packs.Begin(1, 0), s.Trees.Recover()))
	t.Cleanup(func() {
		must(t, errors.Join(s.Trees.Close(), s.Frames.Packs.Close(), s.Heads.Close(), f.Release(), s.Kept.Close()))
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testURL(n int) site.URL {
	return site.Canonical(fmt.Sprintf("http://h%d.example/dir%d/page%d.html", n%3, n%7, n))
}

// newURLs are the URLs first to last-1, as pending.
func newURLs(first, last int) (out []record.NewURL) {
	for n := first; n < last; n++ {
		out = append(out, record.NewURL{URL: testURL(n).String()})
	}
	return out
}

// recordOf makes the result of a document without its place.
func recordOf(id int, body string, targets ...uint32) *record.Done {
	return &record.Done{Resource: record.Resource{
		ID:      uint32(id),
		URL:     testURL(id),
		Outcome: site.Fetched,
		Status:  200,
		Checked: 1000,
		Run:     1,
		InSet:   true,
		Fetched: 1000,
		MIME:    "text/html",
		Size:    int64(len(body)),
		Digest:  sha256.Sum256([]byte(body)),
		Format:  1,
		Body:    record.PackBody,
		Changed: 1,
	}, Targets: targets, Linked: true}
}

// document makes the result of a document, which it puts into the packs.
func document(t testing.TB, s *Site, id int, body string, targets ...uint32) *record.Done {
	t.Helper()
	return documentOver(t, s, id, body, record.Place{}, targets...)
}

// documentOver is document for one that may be a delta over another one.
func documentOver(
	t testing.TB, s *Site, id int, body string, old record.Place, targets ...uint32,
) *record.Done {
	t.Helper()
	d := recordOf(id, body, targets...)
	var err error
	d.At, err = s.Frames.AppendFrameOver(s.Frames.NewFrameWriter(), bodies.FrameMetaOf(&d.Resource),
		[]byte("links"), []byte(body), old, record.Place{})
	must(t, err)
	must(t, s.Frames.Commit([]*record.Done{d}))
	placed, err := s.Frames.Placed(d)
	must(t, err)
	d.At = placed.At
	return d
}

// blobOf makes the result of a body that is published as it came.
func blobOf(t testing.TB, s *Site, id int, body string) *record.Done {
	t.Helper()
	d := recordOf(id, body)
	d.MIME, d.Format, d.Body = "image/png", 0, record.BlobBody
	must(t, s.Kept.Put(d.Digest, []byte(body), time.Unix(1000, 0)))
	return d
}

// blobFile is the file of a blob.
func blobFile(s *Site, d [32]byte) string {
	name := hex.EncodeToString(d[:])
	return filepath.Join(s.Dir, "../../blobs", name[:2], name)
}

func commit(t testing.TB, s *Site, first uint32, news []record.NewURL, done ...*record.Done) {
	t.Helper()
	must(t, s.Records.Commit(first, news, done))
}

// foldAll folds for a version; every URL without a record stays pending.
func foldAll(t testing.TB, s *Site, version int) {
	t.Helper()
	must(t, s.Records.Fold(facts.Folding{
		Version: version,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "" },
	}))
}

// publish publishes a version of one file.
func publish(t testing.TB, s *Site, version int, name, text string) {
	t.Helper()
	tree, err := s.Trees.Build(trees.TreeRules{})
	must(t, err)
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	must(t, w.Write(name, []byte(text), time.Unix(int64(version), 0)))
	must(t, tree.Publish(record.Version{Number: version, Files: 1}, []byte("script")))
}

// verify returns what Verify finds.
func verify(t testing.TB, s *Site) (ps []Problem) {
	t.Helper()
	st, err := s.Verify(context.WithoutCancel(t.Context()), func(p Problem) { ps = append(ps, p) })
	if err != nil || st.Problems != len(ps) {
		t.Errorf("%d problems of %d, %v", len(ps), st.Problems, err)
	}
	return ps
}

// behind is the transaction of bbolt behind one of the database, for what no program does.
func behind(tx *db.Tx) *bolt.Tx {
	return *(**bolt.Tx)(reflect.ValueOf(tx).Elem().FieldByName("tx").Addr().UnsafePointer())
}
