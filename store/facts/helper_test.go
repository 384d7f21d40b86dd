// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
)

// testSite is the folder of a site with a database, packs and heads: it has no tree, and no state knows it.
type testSite struct {
	*home.Folder
	Records *Records
	packs   *bodies.Packs
	heads   *bodies.HeadFiles
}

// openTest opens a folder, in which a site is made. The end of the test closes it.
func openTest(t testing.TB, dir string, volatile bool) *testSite {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	must(t, root.MkdirAll("packs", 0o755))
	f := &home.Folder{
		Name:     "x",
		Dir:      dir,
		Volatile: volatile,
		Root:     root,
		Now:      time.Now,
	}
	f.DB, err = db.Open(db.Options{
		Path:     filepath.Join(dir, home.SiteDB),
		Site:     "x",
		Mode:     0o600,
		Depth:    1,
		Volatile: volatile,
		Fresh:    !log.Has(root),
	})
	must(t, err)
	must(t, f.DB.Follow(root))
	must(t, f.DB.Update(func(tx *db.Tx) error {
		for _, b := range [][]byte{db.Meta, home.Resources, home.Links, home.History, home.Versions, home.Scripts,
			home.Observed, home.Looks} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return nil
	}))
	sub, err := root.OpenRoot("packs")
	must(t, err)
	s := &testSite{Folder: f, packs: bodies.Open(sub, nil)}
	frames := &bodies.Frames{Packs: s.packs}
	s.heads, err = frames.OpenHeads(root)
	must(t, err)
	s.Records = Of(f, frames, s.heads)
	num, size, err := s.Records.PacksEnd()
	must(t, err)
	must(t, f.DB.BeginLog())
	must(t, s.packs.Begin(num, size))
	t.Cleanup(func() {
		if s.DB != nil {
			s.close(t)
		}
	})
	return s
}

// close checks the sums of the database, and closes it.
func (s *testSite) close(t testing.TB) {
	t.Helper()
	must(t, s.DB.View((*db.Tx).CheckSums))
	must(t, errors.Join(s.packs.Close(), s.heads.Close(), s.Release()))
	s.DB = nil
}

// view is what a reader has, as the last commit left it.
func (s *testSite) view() *Records {
	f := &home.Folder{
		Name:     s.Name,
		Root:     s.Root,
		DB:       s.DB,
		ReadOnly: true,
	}
	return Of(f, s.Records.frames, s.heads)
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
		out = append(out, record.NewURL{URL: testURL(n).String(), Depth: n % 5, Requis: n%4 == 0})
	}
	return out
}

// document makes the result of a document with a body, which it puts into the packs.
func document(t testing.TB, s *testSite, id int, body string) *record.Done {
	t.Helper()
	d := &record.Done{Resource: record.Resource{
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
	}, Linked: true}
	f := s.Records.frames
	var err error
	d.At, err = f.AppendFrame(f.NewFrameWriter(), bodies.FrameMetaOf(&d.Resource), []byte("links"), []byte(body))
	must(t, err)
	return d
}

func commit(t testing.TB, s *testSite, first uint32, news []record.NewURL, done ...*record.Done) {
	t.Helper()
	must(t, s.Records.Commit(first, news, done))
}

// foldAll folds for a version; every URL without a record stays pending.
func foldAll(t testing.TB, s *testSite, version int) {
	t.Helper()
	must(t, s.Records.Fold(Folding{
		Version: version,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "" },
	}))
}

func resources(t testing.TB, s *testSite) map[string]record.Resource {
	t.Helper()
	out := map[string]record.Resource{}
	must(t, s.Records.Resources(func(r *record.Resource) error {
		out[r.URL.String()] = *r
		return nil
	}))
	return out
}

const plainHead = "HTTP/1.1 200 OK\nServer: s\nDate: Fri, 20 Nov 2026 18:11:13 GMT\nContent-Type: " +
	"text/html\nCache-Control: max-age=60\n"

func headOf(t testing.TB, text string) *heads.Head {
	t.Helper()
	h, err := heads.Parse([]byte(text + "\n"))
	must(t, err)
	return h
}

// boltOf is bbolt behind the database of a site.
func boltOf(t *testing.T, s *testSite) (d *bolt.DB) {
	t.Helper()
	must(t, s.DB.View(func(tx *db.Tx) error {
		d = (*(**bolt.Tx)(reflect.ValueOf(tx).Elem().FieldByName("tx").Addr().UnsafePointer())).DB()
		return nil
	}))
	return d
}

// redoHeader is how many bytes of an entry of the log lie before its payload.
const redoHeader = 28

// sized is how much of something a test makes: brief, or full when MIRRORD_LONG is set.
func sized(brief, full int) int {
	if os.Getenv("MIRRORD_LONG") != "" {
		return full
	}
	return brief
}
