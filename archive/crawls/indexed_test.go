// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"mirrord/archive/warc"
	"mirrord/site"
)

// counted is a file that counts the bytes read.
type counted struct {
	*bytes.Reader
	n int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// zipped writes a WACZ of stored files.
func zipped(t *testing.T, data, index string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"archive/data.warc.gz", data}, {"indexes/index.cdx", index},
		{"datapackage.json", `{"profile":"data-package","resources":[]}`},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, f[1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// indexOf writes the index of records.
func indexOf(t *testing.T, data string) (lines []string) {
	t.Helper()
	_, err := warc.Survey(strings.NewReader(data), func(e warc.Entry) error {
		e.File = "data.warc.gz"
		lines = append(lines, string(e.Append(nil)))
		return nil
	}, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func noise(n int) string {
	b := make([]byte, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = 'a' + byte(random.Uint32N(26))
	}
	return string(b)
}

const digestA = "WARC-Payload-Digest: sha1:QAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"

// A WACZ is read by its index: of the records only those that are wanted, and the answers are those of a
// reading of all.
func TestIndexed(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	data := members(
		of("warcinfo", "", day1, "", "software: x\r\n"),
		page("http://h.test/", day1, "one"),
		page("http://h.test/large", day1, noise(1<<20)),
		of("response", "http://h.test/moved", day1, "", "HTTP/1.1 301 M\r\nLocation: /\r\n\r\n"),
		page("http://h.test/", day2, "two"),
		of("revisit", "http://h.test/large", day2, "WARC-Refers-To-Date: "+day1+"\r\n", answer),
		of("resource", "http://h.test/r", day2, "Content-Type: text/plain\r\n", "a resource"),
		of("metadata", "http://h.test/m", day2, "Content-Type: text/plain\r\n", "not a page"),
	)
	lines := indexOf(t, data)
	file := zipped(t, data, strings.Join(lines, ""))
	in := &counted{Reader: bytes.NewReader([]byte(file))}
	o := options()
	o.Indexed = true
	a, err := Read([]RecordFile{{Name: "f.wacz", R: in, Size: in.Size()}}, o)
	if err != nil || in.n > 100<<10 {
		t.Fatalf("%d bytes of %d were read, %v", in.n, in.Size(), err)
	}
	all, err := Read(inputs(file), options())
	if err != nil || len(all.Crawls) != len(a.Crawls) {
		t.Fatalf("%d and %d crawls, %v", len(all.Crawls), len(a.Crawls), err)
	}
	for k := range all.Crawls {
		for n := range all.Len() {
			u := all.URL(n)
			want, _, err := all.Answer(k, u)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := a.Answer(k, u)
			if err != nil || (got == nil) != (want == nil) {
				t.Errorf("crawl %d, %s: %v, %v", k, u, got, err)
			}
			if got == nil || want == nil {
				continue
			}
			body, err := io.ReadAll(got.Body)
			if err != nil {
				t.Error(err)
			}
			other, err := io.ReadAll(want.Body)
			if err != nil || !bytes.Equal(body, other) || string(got.Head) != string(want.Head) || got.At != want.At {
				t.Errorf("crawl %d, %s: %d and %d bytes, %q, %q, %v", k, u, len(body), len(other), got.Head,
					want.Head, err)
			}
			got.Close()
			want.Close()
		}
	}
	if u := a.Entry(); u.String() != "http://h.test/" {
		t.Errorf("begins at %v", u)
	}
}

// An index that lies is found out when the file is opened, or when its record is read.
func TestIndexedLies(t *testing.T) {
	data := members(page("http://h.test/", day1, "one"), page("http://h.test/b", day1, "two"),
		of("response", "http://h.test/d", day1, digestA, "HTTP/1.1 200 OK\r\n\r\nd"))
	lines := indexOf(t, data)
	first := func(old, now string) string { return strings.Replace(strings.Join(lines, ""), old, now, 1) }
	length := fmt.Sprintf(`"length":"%d"`, len(members(page("http://h.test/", day1, "one"))))
	second := fmt.Sprintf(`"offset":"%d"`, strings.Index(data[1:], data[:4])+1)
	const start, end = `"offset":"0"`, `"offset":"9223372036854775807"`
	for name, x := range map[string]struct{ index, opened, read, url string }{
		"truth":              {first("", ""), "", "", "/"},
		"another record":     {first(start, second), "", "offset ", "/"},
		"no record":          {first(start, `"offset":"3"`), "", "offset 3", "/"},
		"another URL":        {first("h.test/\"", "h.test/x\""), "", "record of this URL: http://h.test/x", "/x"},
		"another date":       {first("20240501100000", "20240501100001"), "", "record of this URL", "/"},
		"too short":          {first(length, `"length":"9"`), "", "offset 0", "/"},
		"too long":           {first(length, `"length":"300"`), "", "offset 0", "/"},
		"beyond the file":    {first(start, `"offset":"99999"`), "leads out of the file", "", ""},
		"overflow":           {first(start, end), "leads out of the file", "", ""},
		"no length":          {first(length, `"length":"0"`), "leads out of the file", "", ""},
		"another file":       {first("data.warc.gz", "../../etc/passwd"), "leads out of the file", "", ""},
		"no line":            {first("{", "("), "no line", "", ""},
		"more than there is": {strings.Repeat(lines[0], 100), "more lines", "", ""},
		"a wrong digest":     {first("", ""), "", "digest", "/d"},
	} {
		if name == "no line" {
			x.opened = "invalid character"
		}
		o := options()
		o.Indexed = true
		a, err := Read(inputs(zipped(t, data, x.index)), o)
		if x.opened != "" {
			if err == nil || !strings.Contains(err.Error(), x.opened) ||
				!strings.Contains(err.Error(), "indexes/index.cdx") {
				t.Errorf("%s: opened, %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, _, err := a.Answer(0, site.Canonical("http://h.test"+x.url))
		if x.read == "" {
			if err != nil || got == nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), x.read) {
			t.Errorf("%s: %v, want %q", name, err, x.read)
		}
		if got != nil {
			got.Close()
		}
	}
}

// The memory for an index grows with its lines: at most 500 bytes for each.
func TestIndexedMemory(t *testing.T) {
	n := 3_000
	if os.Getenv("MIRRORD_LONG") != "" {
		n = 2_000_000
	}
	data := page("http://h.test/", day1, "one").String()
	data += strings.Repeat("\x00", leastMember*n)
	var index strings.Builder
	for i := range n {
		e := warc.Entry{
			Key:    fmt.Sprintf("test,h)/d%07d/p%07d", i/10, i),
			Time:   "20240501100000",
			URL:    fmt.Sprintf("http://h.test/d%07d/p%07d.html", i/10, i),
			Status: "200",
			Digest: fmt.Sprintf("%064x", i),
			Place:  warc.Extent{Offset: int64(i), Length: 18},
			File:   "data.warc.gz",
		}
		index.Write(e.Append(nil))
	}
	in := inputs(zipped(t, data, index.String()))
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	o := options()
	o.Indexed = true
	a, err := Read(in, o)
	if err != nil || a.Counted.Answers != n {
		t.Fatalf("%+v, %v", a, err)
	}
	each := (heap() - before) / int64(n)
	runtime.KeepAlive(in)
	runtime.KeepAlive(a)
	if t.Logf("%d bytes for each line", each); each > 500 {
		t.Errorf("%d bytes for each line", each)
	}
}

// Without an index that can be used all records are read.
func TestIndexedWithoutIndex(t *testing.T) {
	data := members(page("http://h.test/", day1, "one"))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"archive/a.warc.gz": data, "datapackage.json": "{}"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Indexed, o.Lenient = true, true
	a, err := Read(inputs(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := bodies(t, a); len(got) != 1 || got[0] != "/ 200 one; " {
		t.Errorf("%q", got)
	}
}
