// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"mirrord/archive/warc"
	"mirrord/internal/lines"
	"mirrord/site"
)

// rec is a record as a test writes it.
type rec struct {
	kind, url, date string
	fields          string // further ones, each with its end
	block           string
}

func (r rec) String() string {
	s := "WARC/1.0\r\nWARC-Type: " + r.kind + "\r\n"
	if r.url != "" {
		s += "WARC-Target-URI: " + r.url + "\r\n"
	}
	if r.date != "" {
		s += "WARC-Date: " + r.date + "\r\n"
	}
	mime := "application/http; msgtype=" + r.kind
	if r.kind == "warcinfo" {
		mime = "application/warc-fields"
	}
	if !strings.Contains(r.fields, "Content-Type:") {
		s += "Content-Type: " + mime + "\r\n"
	}
	return s + r.fields + fmt.Sprintf("Content-Length: %d\r\n\r\n%s\r\n\r\n", len(r.block), r.block)
}

// page is an answer with a page.
func page(url, date, body string) rec {
	return rec{
		kind:  "response",
		url:   url,
		date:  date,
		block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body,
	}
}

// of is a record of a kind.
func of(kind, url, date, fields, block string) rec {
	return rec{
		kind:   kind,
		url:    url,
		date:   date,
		fields: fields,
		block:  block,
	}
}

// plain, members and stream write records in the forms of files.
func plain(recs ...rec) (s string) {
	for _, r := range recs {
		s += r.String()
	}
	return s
}

func gz(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func members(recs ...rec) (s string) {
	for _, r := range recs {
		s += gz(r.String())
	}
	return s
}

func zst(t *testing.T, recs ...rec) (s string) {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, r := range recs {
		s += string(w.EncodeAll([]byte(r.String()), nil))
	}
	return s
}

// zstdFrame is one frame of several records.
func zstdFrame(t *testing.T, recs ...rec) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(plain(recs...)), nil))
}

// memory is a scratch file.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

func (m *memory) Close() error { return nil }

func (m *memory) ReadAt(p []byte, at int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, at) }

func options() Options {
	return Options{Scratch: func() (lines.Scratch, error) { return new(memory), nil }}
}

func inputs(files ...string) (in []RecordFile) {
	for i, f := range files {
		in = append(in, RecordFile{Name: fmt.Sprintf("f%d", i), R: strings.NewReader(f), Size: int64(len(f))})
	}
	return in
}

// bodies says what the URLs of an archive answered in each crawl: "URL body" of each.
func bodies(t *testing.T, a *Recordings) (out []string) {
	t.Helper()
	for k := range a.Crawls {
		line := ""
		for n := range a.Len() {
			x, _, err := a.Answer(k, a.URL(n))
			if err != nil {
				t.Fatal(err)
			}
			if x == nil {
				continue
			}
			b, err := io.ReadAll(x.Body)
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
			line += fmt.Sprintf("%s %d %s; ", a.URL(n).Path(), warc.ParseMessage(x.Head).Status(), b)
		}
		out = append(out, line)
	}
	return out
}

const day1, day2 = "2024-05-01T10:00:00Z", "2024-05-08T10:00:00Z"

// The same records in all forms of files are the same archive.
func TestForms(t *testing.T) {
	recs := []rec{
		{kind: "warcinfo", date: day1, block: "software: Wget/1.21.3\r\n"},
		page("<http://h.test/>", day1, "one"), // as wget before 1.20 writes it
		page("http://h.test/b", day1, "two"),
	}
	for name, file := range map[string]string{
		"plain": plain(recs...), "gzip": members(recs...), "zstd": zst(t, recs...),
		"one gzip stream":      gz(plain(recs...)),
		"one zstd frame":       zstdFrame(t, recs...),
		"two in each member":   gz(plain(recs[:2]...)) + gz(plain(recs[2:]...)),
		"two in each frame":    zstdFrame(t, recs[:2]...) + zstdFrame(t, recs[2:]...),
		"empty members":        gz("") + members(recs[:2]...) + gz("") + members(recs[2:]...) + gz(""),
		"stream after members": members(recs[:2]...) + gz(plain(recs[2], page("http://h.test/c", day1, "three"))),
	} {
		o, scratches := options(), 0
		o.Scratch = func() (lines.Scratch, error) {
			scratches++
			return new(memory), nil
		}
		a, err := Read(inputs(file), o)
		if err != nil || scratches > 1 {
			t.Errorf("%s: %d scratch files, %v", name, scratches, err)
			continue
		}
		want := "/ 200 one; /b 200 two; "
		records := len(recs)
		if name == "stream after members" {
			want += "/c 200 three; "
			records++
		}
		if a.Counted.Records != records {
			t.Errorf("%s: %d records, not %d", name, a.Counted.Records, records)
		}
		if got := bodies(t, a); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", name, got)
		}
		if u := a.Entry(); u.String() != "http://h.test/" {
			t.Errorf("%s: begins at %v", name, u)
		}
	}
}

// Two crawls of a site are two, in one file or in two: by their pause, or because the second one has again
// what the first has. Files that a crawler wrote one after the other are one crawl.
func TestCrawls(t *testing.T) {
	info := func(date string) rec { return rec{kind: "warcinfo", date: date, block: "software: x\r\n"} }
	soon := "2024-05-01T10:05:00Z"
	first := plain(info(day1), page("http://h.test/", day1, "1"), page("http://h.test/b", day1, "b"))
	for name, c := range map[string]struct {
		files []string
		want  []string
	}{
		"a pause": {
			[]string{first + plain(page("http://h.test/", day2, "2"))},
			[]string{"/ 200 1; /b 200 b; ", "/ 200 2; /b 200 b; "},
		},
		"again": {
			[]string{first, plain(info(soon), page("http://h.test/", soon, "2"))},
			[]string{"/ 200 1; /b 200 b; ", "/ 200 2; /b 200 b; "},
		},
		"the next file of one crawl": {
			[]string{first, plain(info(soon), page("http://h.test/c", soon, "c"))},
			[]string{"/ 200 1; /b 200 b; /c 200 c; "},
		},
		"files in the wrong order": {
			[]string{plain(info(day2), page("http://h.test/", day2, "2")), first},
			[]string{"/ 200 1; /b 200 b; ", "/ 200 2; /b 200 b; "},
		},
		"two crawls of one second in the wrong order": {
			[]string{plain(info(soon), page("http://h.test/", soon, "2")),
				first + plain(page("http://h.test/", soon, "1 again"))},
			[]string{"/ 200 1 again; /b 200 b; ", "/ 200 2; /b 200 b; "},
		},
		"a response that requests a later retry does not count": {
			[]string{first + plain(of("response", "http://h.test/b", soon, "", "HTTP/1.1 503 Busy\r\n\r\n"))},
			[]string{"/ 200 1; /b 200 b; "},
		},
	} {
		a, err := Read(inputs(c.files...), options())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := bodies(t, a); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What Heritrix and Browsertrix write: revisits of both profiles, chunks, requests of other methods, records
// that are no responses, resources, parts of bodies; some programs write the scheme in capitals.
func TestShapes(t *testing.T) {
	const sum = "WARC-Payload-Digest: sha1:K7KRQ6VQLHXXOXJ3YRLXUQ3JM37SX3NC\r\n" // of no body here
	post := page("https://h.test/search", day1, "found")
	post.fields = "WARC-Record-ID: <urn:uuid:1>\r\n"
	recs := []rec{
		of("warcinfo", "", day1, "WARC-Record-ID: <urn:uuid:0>\r\n",
			"software: Heritrix/3.4\r\nisPartOf: weekly\r\n"),
		of("response", "dns:h.test", day1, "Content-Type: text/dns\r\n", "20240501 1.2.3.4"),
		of("response", "https://h.test/robots.txt", day1, "",
			"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
		of("response", "https://h.test/", day1, "",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"+
				"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
		post,
		of("request", "https://h.test/search", day1, "WARC-Concurrent-To: <urn:uuid:1>\r\n",
			"POST /search HTTP/1.1\r\nHost: h.test\r\n\r\nq=1"),
		of("metadata", "https://h.test/", day1, "Content-Type: application/warc-fields\r\n", "via: x\r\n"),
		of("resource", "HTTPS://h.test/frame", day1, "Content-Type: text/html\r\n", "a frame"),
		of("response", "https://h.test/movie", day1, "",
			"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-1/9\r\n\r\nmo"),
		of("revisit", "https://h.test/", day2, sum+
			"WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n",
			"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"),
		of("revisit", "https://h.test/copy", day2, sum+
			"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"+
			"WARC-Refers-To-Target-URI: https://h.test/frame\r\nWARC-Refers-To-Date: "+day1+"\r\n",
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Copy: yes\r\n\r\n"),
	}
	a, err := Read(inputs(members(recs...)), options())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/robots.txt 404 ; / 200 abcde; /frame 200 a frame; ",
		"/robots.txt 404 ; / 200 abcde; /frame 200 a frame; /copy 200 a frame; ",
	}
	if got := bodies(t, a); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
	if c := a.Counted; c.Records != len(recs) || c.Answers != 5 || c.Revisit != 2 || c.Other != 2 {
		t.Errorf("%+v", c)
	}
	if u := a.Entry(); u.Path() != "/" {
		t.Errorf("it begins at %v", u)
	}
	x, _, err := a.Answer(1, site.Canonical("https://h.test/copy"))
	if err != nil || !strings.Contains(string(x.Head), "X-Copy") || !x.At.Equal(x.Seen) {
		t.Errorf("%+v, %v", x, err)
	}
}

// The error of a damaged record names file, record and offset; when damage may be left out, the rest is read.
func TestDamaged(t *testing.T) {
	good := []rec{page("http://h.test/", day1, "one"), page("http://h.test/b", day1, "two"),
		page("http://h.test/c", day1, "three")}
	with := func(change func(*rec)) []rec {
		all := append([]rec{}, good...)
		change(&all[1])
		return all
	}
	second := fmt.Sprintf("f0: record 2 at offset %d", len(gz(good[0].String())))
	cut := members(good...)
	torn := gz(good[1].String())
	torn = torn[:len(torn)-30]
	long := strings.Replace(good[1].String(), "Content-Length: ", "Content-Length: 9", 1)
	const others = "/ 200 one; /c 200 three; "
	for name, c := range map[string]struct {
		file, want, left string
	}{
		"cut off":        {cut[:len(cut)-20], "f0: record 3 at offset ", "/ 200 one; /b 200 two; "},
		"cut in between": {gz(good[0].String()) + torn + gz(good[2].String()), second, others},
		"junk between":   {gz(good[0].String()) + "junk" + gz(good[2].String()), second, others},
		"digest": {members(with(func(r *rec) {
			r.fields = "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
		})...), second + ": wrong digest", others},
		"length":       {members(good[0]) + gz(long) + members(good[2]), second + ": wrong Content-Length", others},
		"a plain file": {plain(good[0]) + "WARC/1.0\r\nnonsense\r\n\r\n" + plain(good[2]), "f0: record 2", others},
	} {
		if _, err := Read(inputs(c.file), options()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		o := options()
		o.Lenient = true
		a, err := Read(inputs(c.file), o)
		if err != nil {
			t.Errorf("%s: lenient: %v", name, err)
			continue
		}
		if got := bodies(t, a); strings.Join(got, "|") != c.left || a.Counted.Damaged == 0 {
			t.Errorf("%s: %q, want %q, %+v", name, got, c.left, a.Counted)
		}
	}
}

// Nothing in a file makes the reader do more work than the file is worth, and hostile names are no names.
func TestHostile(t *testing.T) {
	huge := page("http://h.test/", day1, "x")
	text := strings.Replace(huge.String(), "Content-Length: ", "Content-Length: 99999999999999", 1)
	_, err := Read(inputs(gz(text)), options())
	if err == nil || !strings.Contains(err.Error(), "too many bytes") {
		t.Errorf("a bomb: %v", err)
	}
	if _, err := Read(inputs(plain(rec{kind: "warcinfo", date: day1})), options()); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty archive: %v", err)
	}
	a, err := Read(inputs(plain(page("http://h.test/../../etc/passwd", day1, "p"), page("http://", day1, "n"),
		page("http://h.test/"+strings.Repeat("a", 40<<10), day1, "l"))), options())
	if err != nil || a.Counted.Other != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := bodies(t, a); len(got) != 1 || got[0] != "/etc/passwd 200 p; " {
		t.Errorf("%q", got)
	}
}

// A WACZ whose index lies is refused, and read without it when that is wanted.
func TestLyingIndex(t *testing.T) {
	data := members(page("http://h.test/", day1, "one"))
	const form = `test,h)/ 20240501100000 {"url":"http://h.test/","offset":"%d","length":"%d",` +
		`"filename":"data.warc.gz"}`
	for name, line := range map[string]string{
		"":     fmt.Sprintf(form, 0, len(data)),
		"lies": fmt.Sprintf(form, 7, 9),
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			for _, f := range [][2]string{
				{"archive/data.warc.gz", data}, {"indexes/index.cdxj", line + "\n"},
				{"pages/pages.jsonl", `{"format":"json-pages-1.0"}` + "\n" + `{"url":"http://h.test/","seed":true}`},
				{"datapackage.json", `{"profile":"data-package","resources":[]}`},
			} {
				w, err := z.CreateHeader(&zip.FileHeader{Name: f[0], Method: method})
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(w, f[1])
			}
			z.Close()
			_, err := Read(inputs(b.String()), options())
			if (err != nil) != (name != "") || (err != nil && !strings.Contains(err.Error(), "do not lead to")) {
				t.Errorf("index %s: %v", name, err)
			}
			o := options()
			o.Lenient = true
			a, err := Read(inputs(b.String()), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodies(t, a); got[0] != "/ 200 one; " {
				t.Errorf("%q", got)
			}
		}
	}
}

// A file that anybody made is read or refused: no panic, no endless loop.
func FuzzRead(f *testing.F) {
	f.Add([]byte(plain(page("http://h.test/", day1, "one"))), false)
	f.Add([]byte(members(page("http://h.test/", day1, "one"), page("http://h.test/b", day1, "two"))), true)
	f.Add([]byte(gz(plain(page("http://h.test/", day1, "one"), page("http://h.test/b", day1, "two")))), true)
	f.Fuzz(func(t *testing.T, b []byte, lenient bool) {
		o := options()
		o.Lenient = lenient
		a, err := Read([]RecordFile{{Name: "f", R: bytes.NewReader(b), Size: int64(len(b))}}, o)
		if err != nil {
			return
		}
		for k := range a.Crawls {
			for u := range a.URLs(k) {
				x, _, err := a.Answer(k, u)
				if err != nil || x == nil {
					continue
				}
				_, _ = io.Copy(io.Discard, x.Body)
				x.Close()
			}
		}
	})
}

// A record whose body continues in others does not count as the whole of it, nor are its digests wrong.
func TestSegments(t *testing.T) {
	recs := plain(
		of("response", "http://h.test/", day1, "WARC-Segment-Number: 1\r\n"+
			"WARC-Payload-Digest: sha1:K7KRQ6VQLHXXOXJ3YRLXUQ3JM37SX3NC\r\n", "HTTP/1.1 200 OK\r\n\r\nthe first"),
		of("continuation", "http://h.test/", day1, "WARC-Segment-Number: 2\r\n", " and the second part"))
	a, err := Read(inputs(recs), options())
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := a.Answer(0, site.Canonical("http://h.test/"))
	if err != nil || !x.Cut {
		t.Errorf("%+v, %v", x, err)
	}
}
