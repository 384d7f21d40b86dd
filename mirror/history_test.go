// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/site"
)

// historySite is a real site week by week: its files and their sizes are recorded
// (shared/data/site-histories), what they say is made up. Where a text has changed, 3 % of its lines are new
// ones, strewn all over it; then lines come or go at the end until it has the recorded size. A picture or the
// like that changes is new from end to end. Contents are made when they are asked for.
type historySite struct {
	rng   *rand.Rand
	words [1 << 14]string // as often as they are used
	files map[string]*historyFile
	next  uint32 // number of the next line, or of the next contents that are no text
	// bytes of new lines, of new texts, and of other contents that are new or changed, in the page of all
	// files and in sitemaps too
	changed int64
	now     time.Time
	scratch []byte

	// maps is for sites with very many files: a sitemap names them and says when each has changed, so that
	// only these are asked for.
	maps     bool
	sitemaps map[string][]byte
	page     []byte // of all files, unless maps
}

type historyFile struct {
	size  int
	lines []uint32 // of a text; together they are as long as the file, or the last one is cut
	seed  uint32   // of contents that are no text
	since time.Time
}

const filesPage = "every-file-of-the-history.html" // links to all files; it is no part of the recorded site

func newHistorySite(maps bool) *historySite {
	s := &historySite{
		rng:   rand.New(rand.NewPCG(3, 1)),
		files: map[string]*historyFile{},
		maps:  maps,
		page:  []byte("<title>A site</title>\n"),
	}
	zipf := rand.NewZipf(s.rng, 1.35, 3, 3999) // a text of 23 KB packs about as real pages do, 1 : 3.3
	all := make([]string, 4000)
	for i := range all {
		w := make([]byte, 2+s.rng.IntN(9))
		for i := range w {
			w[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(s.rng.IntN(26), s.rng.IntN(26))]
		}
		all[i] = string(w) + " "
	}
	for i := range s.words {
		s.words[i] = all[zipf.Uint64()]
	}
	return s
}

// line appends the line with a number, now and then one with a link.
func (s *historySite) line(b []byte, id uint32) []byte {
	x := (uint64(id) + 1) * 0xd6e8feb86659fd93 // where the numbers of this line begin
	x ^= x >> 32
	next := func() uint64 { // splitmix64
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	r := next()
	b = append(b, "<p>"...)
	for end := len(b) + 37 + int(r%80); len(b) < end; {
		r := next()
		for range 4 {
			b = append(b, s.words[r%uint64(len(s.words))]...)
			if r >>= 14; len(b) >= end {
				break
			}
		}
	}
	if r>>32%8 == 0 {
		b = fmt.Appendf(b, `<a href="/%s">more</a>`, filesPage)
	}
	return append(b, "</p>\n"...)
}

// newLine returns the number of a line that was not there before, and its length.
func (s *historySite) newLine() (id uint32, n int) {
	s.next++
	return s.next, s.length(s.next)
}

func (s *historySite) length(id uint32) int {
	s.scratch = s.line(s.scratch[:0], id)
	return len(s.scratch)
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
	f := s.files[name]
	if f == nil {
		f = new(historyFile)
		s.files[name] = f
	}
	f.since = s.now
	old := f.size
	f.size = size
	if !isText(name) {
		s.next++
		f.seed = s.next
		s.changed += int64(size)
		return
	}
	n := 0
	for i, id := range f.lines {
		l := 0
		if s.rng.IntN(100) < 3 {
			f.lines[i], l = s.newLine()
			s.changed += int64(l)
		} else {
			l = s.length(id)
		}
		n += l
	}
	if size > old && n > old && len(f.lines) > 0 { // the end of the last line was cut off before
		s.changed += int64(min(n, size) - old)
	}
	for n < size {
		id, l := s.newLine()
		f.lines, n = append(f.lines, id), n+l
		s.changed += int64(l)
	}
	for len(f.lines) > 0 {
		l := s.length(f.lines[len(f.lines)-1])
		if n-l < size {
			break
		}
		f.lines, n = f.lines[:len(f.lines)-1], n-l
	}
}

// body makes the contents of a file.
func (s *historySite) body(name string) (b []byte, ok bool) {
	if name == filesPage {
		return s.page, true
	}
	f := s.files[name]
	if f == nil {
		return nil, false
	}
	b = make([]byte, 0, f.size+200)
	if !isText(name) {
		for rng := rand.New(rand.NewPCG(uint64(f.seed), 0)); len(b) < f.size; {
			b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
		}
	}
	for _, id := range f.lines {
		b = s.line(b, id)
	}
	return b[:f.size], true
}

// count is how many files a mirror of the site has.
func (s *historySite) count() int { return len(s.files) + 1 + len(s.sitemaps) }

// link updates the page of all files, or the sitemaps.
func (s *historySite) link() {
	if s.maps {
		now := s.lists()
		for name, list := range now {
			old := map[string]bool{}
			for l := range bytes.Lines(s.sitemaps[name]) {
				old[string(l)] = true
			}
			for l := range bytes.Lines(list) {
				if !old[string(l)] {
					s.changed += int64(len(l))
				}
			}
		}
		s.sitemaps = now
		return
	}
	var b bytes.Buffer
	old := map[string]bool{}
	for l := range bytes.Lines(s.page) {
		old[string(l)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		l := fmt.Sprintf("<a href=\"/%s\">file</a>\n", (&url.URL{Path: name}).EscapedPath())
		if !old[l] {
			s.changed += int64(len(l))
		}
		b.WriteString(l)
	}
	s.page = b.Bytes()
}

// lists are the sitemaps, by name: one for each folder of the second level.
func (s *historySite) lists() map[string][]byte {
	names := map[string][]string{}
	for name, f := range s.files {
		dir := strings.Join(strings.SplitN(name, "/", 3)[:min(2, strings.Count(name, "/"))], "_")
		names["sitemap-"+dir+".xml"] = append(names["sitemap-"+dir+".xml"],
			fmt.Sprintf("<url><loc>/%s</loc><lastmod>%s</lastmod></url>\n",
				(&url.URL{Path: name}).EscapedPath(), f.since.Add(-time.Hour).UTC().Format(time.RFC3339)))
	}
	out := map[string][]byte{}
	for name, lines := range names {
		slices.Sort(lines)
		out[name] = []byte("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n" +
			strings.Join(lines, "") + "</urlset>")
	}
	return out
}

// Rules are those of a robots.txt that only names the sitemaps.
func (s *historySite) Rules(context.Context, site.URL) (*fetch.Robots, error) {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(s.sitemaps)) {
		b = fmt.Appendf(b, "Sitemap: /%s\n", name)
	}
	f := robots.Parse(b)
	return &fetch.Robots{Status: http.StatusOK, File: f, Rules: f.Agent("mirrord")}, nil
}

func (s *historySite) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	u, err := url.Parse(req.URL.String())
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(u.Path, "/")
	var kind string
	body, ok := s.sitemaps[name]
	if kind = "text/xml"; !ok {
		if body, ok = s.body(name); !ok {
			return &fetch.Result{Head: fetch.Head{Status: 404, MIME: "text/plain", Header: http.Header{}}}, nil
		}
		kind = map[string]string{".html": "text/html", ".php": "text/html", ".css": "text/css", ".xml": "text/xml",
			".svg": "image/svg+xml",
			".png": "image/png", ".js": "text/javascript"}[path.Ext(name)]
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	res := &fetch.Result{
		Head: fetch.Head{
			Status: 200,
			MIME:   kind,
			Header: http.Header{},
			Length: int64(len(body)),
		},
		Kept: true,
		Wire: int64(len(body)),
		Body: int64(len(body)),
	}
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = w.Write(body)
	}
	return res, err
}

// weeks replays a recorded history and calls f for every version.
func (s *historySite) weeks(in io.Reader, f func(n int)) error {
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	defer z.Close()
	n := -1
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		r := strings.Split(lines.Text(), "\t")
		switch {
		case r[0] == "V":
			if n >= 0 {
				f(n)
			}
			n++
			if s.now, err = time.Parse(time.RFC3339, r[2]); err != nil {
				return err
			}
		case r[0] == "D":
			delete(s.files, r[1])
		case r[0] == "A" || r[0] == "M":
			size, err := strconv.Atoi(r[2])
			if err != nil {
				return err
			}
			s.write(r[1], max(size, 0))
		}
	}
	f(n)
	return lines.Err()
}
