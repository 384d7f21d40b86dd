// SPDX-License-Identifier: Apache-2.0

// Package replicatest reads the data sets that the rooms of replica are tested with, where they lie beside
// the repository.
package replicatest

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// CorpusPage is a line of pages.tsv.
type CorpusPage struct {
	Host, Path, Blob  string
	Family, Lang, Key string
	Copy              string
	crawled           bool
}

// Corpus is one of the data sets: real pages of invented hosts, and the truth about them.
type Corpus struct {
	Dir   string
	Pages []CorpusPage
	Blobs map[string][]byte
}

// CorpusDir returns the directory of a set; "" when it is not there. The environment variable
// MIRRORD_REPLICA_SET names another one to test with in place of mini: dev needs blobs.tar beside its
// blobs.tar.xz, because the standard library reads no xz.
func CorpusDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("MIRRORD_REPLICA_SET"); dir != "" {
		return dir
	}
	if dir := DataDir(t); dir != "" {
		return filepath.Join(dir, "replicas", "mini")
	}
	return ""
}

// ReadCorpus reads a set; nil when it is not there.
func ReadCorpus(t testing.TB) *Corpus {
	t.Helper()
	dir := CorpusDir(t)
	if dir == "" {
		return nil
	}
	c := &Corpus{Dir: dir, Blobs: map[string][]byte{}}
	var cols map[string]int
	for _, line := range ReadLines(t, filepath.Join(dir, "pages.tsv.gz")) {
		f := strings.Split(line, "\t")
		if cols == nil {
			cols = map[string]int{}
			for i, name := range f {
				cols[name] = i
			}
			continue
		}
		if f[cols["pid"]] != strconv.Itoa(len(c.Pages)) {
			t.Fatalf("%s: page %s has number %d", dir, f[cols["pid"]], len(c.Pages))
		}
		c.Pages = append(c.Pages, CorpusPage{f[cols["host"]], f[cols["path"]], f[cols["blob"]], f[cols["family"]],
			f[cols["lang"]], f[cols["key"]], f[cols["copy"]], f[cols["crawled"]] == "1"})
	}
	name := filepath.Join(dir, "blobs.tar.gz")
	if _, err := os.Stat(name); err != nil {
		name = filepath.Join(dir, "blobs.tar")
	}
	r := tar.NewReader(openFile(t, name))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		c.Blobs[h.Name] = b
	}
	return c
}

// openFile opens a file, unpacked when its name ends in .gz, until the test ends.
func openFile(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func ReadLines(t testing.TB, name string) []string {
	t.Helper()
	var out []string
	s := bufio.NewScanner(openFile(t, name))
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		out = append(out, s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
