package mirror_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

// historySite is a real site week by week: its files and their sizes are recorded (shared/data/site-histories), what they say is made up.
// Where a text has changed, 3 % of its lines are new ones, strewn all over it; then lines come or go at the end until it has the
// recorded size. A picture or the like that changes is new from end to end.
type historySite struct {
	rng     *rand.Rand
	zipf    *rand.Zipf
	words   []string
	text    map[string][][]byte // lines of each text, by path
	files   map[string][]byte
	changed int64 // bytes of new lines, of new texts, and of what is no text and new or changed, in the page of all files too
}

const filesPage = "every-file-of-the-history.html" // leads to all files; it is no part of the recorded site

func newHistorySite() *historySite {
	s := &historySite{rng: rand.New(rand.NewPCG(3, 1)), text: map[string][][]byte{}, files: map[string][]byte{}}
	s.zipf = rand.NewZipf(s.rng, 1.35, 3, 3999) // a text of 23 KB packs about as real pages do, 1 : 3.3
	for range 4000 {
		w := make([]byte, 2+s.rng.IntN(9))
		for i := range w {
			w[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(s.rng.IntN(26), s.rng.IntN(26))]
		}
		s.words = append(s.words, string(w))
	}
	return s
}

// line makes a line that was not there before, now and then with a link.
func (s *historySite) line() []byte {
	b := []byte("<p>")
	for end := 40 + s.rng.IntN(80); len(b) < end; {
		b = append(append(b, s.words[s.zipf.Uint64()]...), ' ')
	}
	if s.rng.IntN(8) == 0 {
		b = fmt.Appendf(b, `<a href="/%s">more</a>`, filesPage)
	}
	return append(b, "</p>\n"...)
}

func isText(name string) bool {
	switch path.Ext(name) {
	case ".html", ".css", ".js", ".json", ".xml", ".svg", ".txt", ".yml", ".md", ".php":
		return true
	}
	return false
}

// write gives a file other contents of the given size.
func (s *historySite) write(name string, size int) {
	if !isText(name) {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(s.rng.Uint32())
		}
		s.files[name] = b
		s.changed += int64(size)
		return
	}
	ls := slices.Clone(s.text[name])
	for i := range ls {
		if s.rng.IntN(100) < 3 {
			ls[i] = s.line()
			s.changed += int64(len(ls[i]))
		}
	}
	n := 0
	for _, l := range ls {
		n += len(l)
	}
	for n < size {
		l := s.line()
		ls, n = append(ls, l), n+len(l)
		s.changed += int64(len(l))
	}
	for n > size {
		l := ls[len(ls)-1]
		ls, n = ls[:len(ls)-1], n-len(l)
		if n < size { // the last line is cut to fit
			ls, n = append(ls, l[:size-n]), size
		}
	}
	s.text[name], s.files[name] = ls, bytes.Join(ls, nil)
}

func (s *historySite) remove(name string) {
	delete(s.text, name)
	delete(s.files, name)
}

// link brings the page of all files up to date.
func (s *historySite) link() {
	var b bytes.Buffer
	old := string(s.files[filesPage])
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if name == filesPage {
			continue
		}
		l := fmt.Sprintf("<a href=\"/%s\">file</a>\n", (&url.URL{Path: name}).EscapedPath())
		if !strings.Contains(old, l) {
			s.changed += int64(len(l))
		}
		b.WriteString(l)
	}
	s.files[filesPage] = b.Bytes()
}

func (s *historySite) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	u, err := url.Parse(req.URL.String())
	if err != nil {
		return nil, err
	}
	body, ok := s.files[strings.TrimPrefix(u.Path, "/")]
	if !ok {
		return &fetch.Result{Head: fetch.Head{Status: 404, MIME: "text/plain", Header: http.Header{}}}, nil
	}
	kind := map[string]string{".html": "text/html", ".php": "text/html", ".css": "text/css", ".xml": "text/xml", ".svg": "image/svg+xml",
		".png": "image/png", ".js": "text/javascript"}[path.Ext(u.Path)]
	if kind == "" {
		kind = "application/octet-stream"
	}
	res := &fetch.Result{Head: fetch.Head{Status: 200, MIME: kind, Header: http.Header{}, Length: int64(len(body))}, Kept: true, Wire: int64(len(body)), Body: int64(len(body))}
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = w.Write(body)
	}
	return res, err
}

// weeks replays a recorded history and calls f for every version.
func (s *historySite) weeks(in io.Reader, f func(n int, when time.Time)) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	defer z.Close()
	n, when := -1, time.Time{}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		r := strings.Split(lines.Text(), "\t")
		switch {
		case r[0] == "V":
			if n >= 0 {
				f(n, when)
			}
			n++
			if when, err = time.Parse(time.RFC3339, r[2]); err != nil {
				return err
			}
		case r[0] == "D":
			s.remove(r[1])
		case r[0] == "A" || r[0] == "M":
			size, err := strconv.Atoi(r[2])
			if err != nil {
				return err
			}
			s.write(r[1], max(size, 0))
		}
	}
	f(n, when)
	return lines.Err()
}

// diskUsed is what the files of a state but its published trees occupy, in bytes as du counts them; trees are not history.
func diskUsed(tb testing.TB, dir string) (packs, blobs, db int64) {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		n := fi.Sys().(*syscall.Stat_t).Blocks * 512
		switch rel, _ := filepath.Rel(dir, name); {
		case strings.HasPrefix(rel, "blobs/"):
			blobs += n
		case strings.Contains(rel, "/packs/"):
			packs += n
		case strings.HasSuffix(rel, ".db"):
			db += n
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return packs, blobs, db
}

// treeSums is the digest of every published file.
func treeSums(tb testing.TB, s *store.Site) map[string][32]byte {
	tree, err := s.Current()
	if err != nil {
		tb.Fatal(err)
	}
	defer tree.Close()
	out := map[string][32]byte{}
	err = fs.WalkDir(tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := tree.ReadFile(name)
		out[name] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// BenchmarkHundredVersions mirrors 81 weeks of real sites and says what keeping all versions costs: the bytes on disk of packs, blobs and
// database, divided by the bytes that really changed (historySite.changed, the first version included). "since-first" is the same
// without what the first version took and brought.
func BenchmarkHundredVersions(b *testing.B) {
	for _, name := range []string{"dplyr", "rust-blog", "mesos"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				keepHistory(b, name)
			}
		})
	}
}

func keepHistory(b *testing.B, name string) {
	file, err := os.Open("../../shared/data/site-histories/" + name + ".history.tsv.gz")
	if err != nil {
		b.Fatalf("the recorded histories are missing: %v", err)
	}
	defer file.Close()
	dir := b.TempDir()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("past")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	j := jobfile.Default("http://past.example.org/" + filesPage)
	j.ObeyRobots, j.Policy, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = false, jobfile.PolicyFull, 16, 0, 0
	j.Programs = jobfile.Programs{Suffixes: []string{}, Dirs: []string{}} // the recorded files are all files
	j.Publish.Keep, j.Evidence.Sitemaps, j.Limits.MaxDelete = "all", false, 1
	web := newHistorySite()
	sums := map[int]map[string][32]byte{}
	var first, firstDisk int64
	err = web.weeks(file, func(n int, when time.Time) {
		web.link()
		sum, err := mirror.Run(context.Background(), mirror.Options{Job: j, State: st, Site: s, Fetcher: web, Hosts: new(fetch.Hosts), Now: func() time.Time { return when }})
		if err != nil || sum.Verdict != mirror.Complete || sum.Files != len(web.files) {
			b.Fatalf("week %d: %v, %+v, want %d files", n, err, sum, len(web.files))
		}
		if sum.Published && n%8 == 0 || n == 0 {
			sums[sum.Version] = treeSums(b, s)
		}
		if n == 0 {
			p, o, d := diskUsed(b, dir)
			first, firstDisk = web.changed, p+o+d
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	packs, blobs, db := diskUsed(b, dir)
	b.StopTimer()
	for v, want := range sums {
		p, err := mirror.OpenPast(st, s, v)
		if err != nil {
			b.Fatal(err)
		}
		for name, sum := range want {
			got, err := fs.ReadFile(p, name)
			if err != nil || sha256.Sum256(got) != sum {
				b.Fatalf("version %d: %s is not as it was: %v", v, name, err)
			}
		}
		if len(p.Files())+2 != len(want) {
			b.Fatalf("version %d has %d files, want %d", v, len(p.Files()), len(want)-2)
		}
	}
	if len(sums) < 3 {
		b.Fatalf("only %d versions were looked at", len(sums))
	}
	b.StartTimer()
	vs, err := s.Versions()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(packs+blobs+db)/float64(web.changed), "ratio")
	b.ReportMetric(float64(packs+blobs+db-firstDisk)/float64(web.changed-first), "since-first")
	b.ReportMetric(float64(web.changed)/1e6, "MB-changed")
	b.ReportMetric(float64(packs)/1e6, "MB-packs")
	b.ReportMetric(float64(blobs)/1e6, "MB-blobs")
	b.ReportMetric(float64(db)/1e6, "MB-db")
	b.ReportMetric(float64(len(vs)), "versions")
	b.ReportMetric(float64(len(sums)), "checked")
}
