// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// readSite opens a site for reading in place, as Unreadable does.
func (s *State) readSite(name string) (*Site, error) { return s.openSite(name, reading) }

// openTest opens a state and a site in a folder. A site that the test leaves open is verified and closed at
// its end. A test that damages the site on purpose names the kinds of problems that Verify must find then.
func openTest(t testing.TB, dir string, opt Options, damage ...upkeep.ProblemKind) (*State, *Site) {
	t.Helper()
	st, err := OpenState(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		st.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.DB != nil {
			verifyTest(t, s, damage...)
			s.Close()
		}
		st.Close()
	})
	return st, s
}

// blobFile is the file of a blob that a site uses.
func blobFile(s *Site, d [32]byte) string {
	name := hex.EncodeToString(d[:])
	return filepath.Join(s.Dir, "../../blobs", name[:2], name)
}

// verifyTest fails for every problem that Verify finds of another kind than those of damage, and for each
// kind of damage that it does not find. A test's context is canceled before its cleanups run, so that Verify
// gets one that is not.
func verifyTest(t testing.TB, s *Site, damage ...upkeep.ProblemKind) upkeep.Stats {
	t.Helper()
	found := map[upkeep.ProblemKind]bool{}
	st, err := s.Verify(context.WithoutCancel(t.Context()), func(p upkeep.Problem) {
		found[p.Kind] = true
		if !slices.Contains(damage, p.Kind) {
			t.Errorf("verify: %s", p)
		}
	})
	if err != nil {
		t.Error(err)
	}
	for _, kind := range damage {
		if !found[kind] {
			t.Errorf("verify: the damage of kind %s is not found", kind)
		}
	}
	return st
}

// closeTest verifies and closes, so that the folder can be opened again.
func closeTest(t testing.TB, st *State, s *Site) {
	t.Helper()
	closeSite(t, s)
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// closeSite verifies and closes a site, and leaves its state open.
func closeSite(t testing.TB, s *Site) {
	t.Helper()
	verifyTest(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func testURL(n int) site.URL {
	return site.Canonical(fmt.Sprintf("http://h%d.example/dir%d/page%d.html", n%3, n%7, n))
}

// document makes the result of a document with the given body, its frame appended to the packs.
func document(t testing.TB, s *Site, id int, body string, targets ...uint32) *record.Done {
	t.Helper()
	d := documentRecord(id, body, targets)
	var err error
	d.At, err = s.Frames.AppendFrame(s.Frames.NewFrameWriter(), bodies.FrameMetaOf(&d.Resource), []byte("links"),
		[]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// gathered makes the result of a document that is written with others when it is committed. It is packed in a
// volatile site too.
func gathered(t testing.TB, s *Site, id int, body string, targets ...uint32) *record.Done {
	t.Helper()
	d := documentRecord(id, body, targets)
	var err error
	w := (&bodies.Frames{}).NewFrameWriter()
	d.At, err = s.Frames.GatherFrame(w, bodies.FrameMetaOf(&d.Resource), []byte("links"), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func documentRecord(id int, body string, targets []uint32) *record.Done {
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

// documentOver makes the result of a document that takes the place of the one at old. It is packed in a
// volatile site too.
func documentOver(t testing.TB, s *Site, id int, body string, old record.Place) *record.Done {
	t.Helper()
	d := documentRecord(id, body, nil)
	var err error
	head := bodies.FrameMetaOf(&d.Resource)
	if d.At, err = s.Frames.AppendFrameOver((&bodies.Frames{}).NewFrameWriter(), head, []byte("links"),
		[]byte(body), old, record.Place{}); err != nil {
		t.Fatal(err)
	}
	d.At = written(t, s, d.At)
	return d
}

// written returns where a document lies that may have been gathered.
func written(t testing.TB, s *Site, at record.Place) record.Place {
	t.Helper()
	if err := s.Frames.Commit([]*record.Done{{Resource: record.Resource{Body: record.PackBody,
		At: at}}}); err != nil {
		t.Fatal(err)
	}
	placed, err := s.Frames.Placed(&record.Done{Resource: record.Resource{Body: record.PackBody, At: at}})
	if err != nil {
		t.Fatal(err)
	}
	return placed.At
}

// deepOver is documentOver as older versions wrote it: over the document at old, also where that is a delta.
func deepOver(t testing.TB, s *Site, id int, body string, old record.Place) *record.Done {
	t.Helper()
	d := documentOver(t, s, id, body, old)
	under, err := s.Frames.Packs.Under(d.At)
	below, err2 := s.Frames.Packs.Under(old)
	if err != nil || err2 != nil || len(under) == 0 {
		t.Fatalf("%v, %v: %d frames under it", err, err2, len(under))
	}
	if len(below) == 0 {
		return d
	}
	payload := func(at record.Place) []byte {
		p, err := s.Frames.Packs.Payload(bodies.NewFrameReader(), at)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	dict := payload(old)
	h := bodies.DeltaHeader{
		Base:  old,
		Sum:   crc32.Checksum(dict, crc32.MakeTable(crc32.Castagnoli)),
		Depth: uint8(len(below) + 1),
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderDictRaw(0, dict))
	if err != nil {
		t.Fatal(err)
	}
	raw := enc.EncodeAll(payload(d.At), make([]byte, h.Start()))
	h.Put(raw)
	if d.At, err = s.Frames.Packs.Append(raw); err != nil {
		t.Fatal(err)
	}
	return d
}

// blobOf makes the result of a body that is a blob.
func blobOf(t testing.TB, s *Site, id int, body string) *record.Done {
	t.Helper()
	d := documentRecord(id, body, nil)
	d.MIME, d.Format, d.Body = "image/png", 0, record.BlobBody
	if err := s.Kept.Put(d.Digest, []byte(body), at(1000)); err != nil {
		t.Fatal(err)
	}
	return d
}

// newURLs are the URLs first to last-1, as pending.
func newURLs(first, last int) (out []record.NewURL) {
	for n := first; n < last; n++ {
		out = append(out, record.NewURL{URL: testURL(n).String(), Depth: n % 5, Requis: n%4 == 0})
	}
	return out
}

func commit(t testing.TB, s *Site, first uint32, news []record.NewURL, done ...*record.Done) {
	t.Helper()
	if err := s.Records.Commit(first, news, done); err != nil {
		t.Fatal(err)
	}
}

// foldAll folds for a version; every URL without a record stays pending.
func foldAll(t testing.TB, s *Site, version int) {
	t.Helper()
	if err := s.Records.Fold(facts.Folding{
		Version: version,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "" },
	}); err != nil {
		t.Fatal(err)
	}
}

func resources(t testing.TB, s *Site) map[string]record.Resource {
	t.Helper()
	out := map[string]record.Resource{}
	if err := s.Records.Resources(func(r *record.Resource) error {
		out[r.URL.String()] = *r
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// copyState copies a state directory as it is now, hard links and symbolic links included: what a kill would
// leave.
func copyState(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil || rel == "." {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.Mkdir(dst, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func readFile(t testing.TB, root regular.Root, name string) string {
	t.Helper()
	data, err := root.ReadFile(name, regular.MaxSmall)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func at(s int64) time.Time { return time.Unix(s, 0) }

func random(n int, seed byte) []byte {
	d := sha256.Sum256([]byte{seed})
	var b bytes.Buffer
	for b.Len() < n {
		d = sha256.Sum256(d[:])
		b.Write(d[:])
	}
	return b.Bytes()[:n]
}

func sum(s string) string {
	d := sha256.Sum256([]byte(s))
	return hex.EncodeToString(d[:])
}

// writePHM writes phm.files and phm.json into a folder.
func writePHM(t testing.TB, dir string, version int, files []phm.File) {
	t.Helper()
	var table, meta bytes.Buffer
	w := phm.NewFilesWriter(&table)
	for i := range files {
		if err := w.Write(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m := &phm.Meta{Entry: files[0].Path, Version: version, Retrieved: at(1000)}
	m.Count(sum)
	if err := phm.WriteMeta(&meta, m); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{phm.FilesName: table.Bytes(), phm.MetaName: meta.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sized is how much of something a test makes: brief, or full when MIRRORD_LONG is set.
func sized(brief, full int) int {
	if os.Getenv("MIRRORD_LONG") != "" {
		return full
	}
	return brief
}

const (
	redoHeader = 28      // bytes of an entry of the log before its payload
	redoLeast  = 4 << 20 // bytes that a log has before it is begun again
)

// logSize is how long the log of a site is.
func logSize(t *testing.T, s *Site) int64 {
	t.Helper()
	fi, err := s.DB.Segment().Stat()
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// behind is the transaction of bbolt behind one of the database, for what no program does.
func behind(tx *db.Tx) *bolt.Tx {
	return *(**bolt.Tx)(reflect.ValueOf(tx).Elem().FieldByName("tx").Addr().UnsafePointer())
}

// boltOf is bbolt behind the database of a site.
func boltOf(t *testing.T, s *Site) (d *bolt.DB) {
	t.Helper()
	if err := s.DB.View(func(tx *db.Tx) error {
		d = behind(tx).DB()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

// damageAt flips a bit of a frame.
func damageAt(t *testing.T, s *Site, at record.Place, off int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.Dir, "packs", bodies.PackName(at.Pack)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at.Off+off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 8
	if _, err := f.WriteAt(b[:], at.Off+off); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
}

func inode(t *testing.T, p string) (ino uint64, links uint64) {
	t.Helper()
	fi, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	return st.Ino, uint64(st.Nlink)
}
