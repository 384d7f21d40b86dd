package replica

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

// corpusPage is a line of pages.tsv.
type corpusPage struct {
	host, path, blob  string
	family, lang, key string
	copy              string
	crawled           bool
}

// corpus is one of the data sets: real pages of invented hosts, and what is true of them.
type corpus struct {
	dir   string
	pages []corpusPage
	blobs map[string][]byte
}

// corpusDir returns the directory of a set; "" when it is not there. The environment variable MIRRORD_REPLICA_SET names another one to test
// with in place of mini: dev needs blobs.tar beside its blobs.tar.xz, because the standard library reads no xz.
func corpusDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("MIRRORD_REPLICA_SET"); dir != "" {
		return dir
	}
	if dir := dataDir(t); dir != "" {
		return filepath.Join(dir, "replicas", "mini")
	}
	return ""
}

// readCorpus reads a set; nil when it is not there.
func readCorpus(t testing.TB) *corpus {
	t.Helper()
	dir := corpusDir(t)
	if dir == "" {
		return nil
	}
	c := &corpus{dir: dir, blobs: map[string][]byte{}}
	var cols map[string]int
	for _, line := range readLines(t, filepath.Join(dir, "pages.tsv.gz")) {
		f := strings.Split(line, "\t")
		if cols == nil {
			cols = map[string]int{}
			for i, name := range f {
				cols[name] = i
			}
			continue
		}
		if f[cols["pid"]] != strconv.Itoa(len(c.pages)) {
			t.Fatalf("%s: page %s has number %d", dir, f[cols["pid"]], len(c.pages))
		}
		c.pages = append(c.pages, corpusPage{f[cols["host"]], f[cols["path"]], f[cols["blob"]], f[cols["family"]], f[cols["lang"]], f[cols["key"]], f[cols["copy"]], f[cols["crawled"]] == "1"})
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
		c.blobs[h.Name] = b
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

func readLines(t testing.TB, name string) []string {
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
