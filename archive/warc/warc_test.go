// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var then = time.Date(2026, 11, 21, 9, 53, 55, 0, time.UTC)

// seen is what a test keeps of a record.
type seen struct {
	kind, url, head, body string
	from, to              int64
}

// readAll reads a file, each record with its digests checked.
func readAll(t *testing.T, file []byte) (all []seen, err error) {
	t.Helper()
	for _, verify := range []bool{true, false} {
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		all = nil
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return all, err
			}
			s := seen{kind: rec.Type(), url: rec.URL(), from: rec.Offset}
			if verify {
				if err := rec.Verify(); err != nil {
					return all, err
				}
			} else if s.head, s.body, err = content(rec); err != nil {
				return all, err
			}
			if s.to, err = r.End(); err != nil {
				return all, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func content(rec *Record) (head, body string, err error) {
	m, err := rec.Message()
	if err != nil {
		return "", "", err
	}
	if m != nil {
		head = string(m.Raw)
	}
	p, err := rec.Payload()
	if err != nil {
		return head, "", err
	}
	b, err := io.ReadAll(p)
	return head, string(b), err
}

// foreign is a record as other programs write it.
func foreign(fields, block string) string {
	return "WARC/1.0\r\n" + fields + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(block)) + block + "\r\n\r\n"
}

func gzipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstdFrames(t testing.TB, parts ...string) (out []byte) {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	for _, p := range parts {
		out = enc.EncodeAll([]byte(p), out)
	}
	return out
}

// skipped is a frame that decoders of zstd skip.
const skipped = "\x50\x2a\x4d\x18\x03\x00\x00\x00abc"

const page = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"

func TestWriteAndRead(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	body := strings.Repeat("some text, and more of it\n", 10_000)
	message := func(more ...HeaderField) []HeaderField {
		return append(more, HeaderField{"Content-Type", "application/http; msgtype=response"})
	}
	digest := HeaderField{"WARC-Payload-Digest", SHA256(sha256.Sum256([]byte(body)))}
	info := &RecordDraft{Type: Info, Date: then, Head: WriteFields(HeaderField{"software", "test"})}
	first := &RecordDraft{Type: Response, URL: "http://a.test/", Date: then}
	first.Head, first.Fields = []byte(page), message(digest)
	first.Body, first.Size = strings.NewReader(body), int64(len(body))
	again := &RecordDraft{Type: Revisit, URL: "http://a.test/", Date: then.Add(time.Hour)}
	again.Head, again.Fields = []byte(page), message(digest, HeaderField{"WARC-Profile", SamePayload})
	evil := &RecordDraft{Type: Response, URL: "http://a.test/x\r\nEvil: y", Date: then}
	evil.Head, evil.Fields = []byte(page), message()
	drafts := []*RecordDraft{info, first, again, evil}
	var places []Extent
	for _, d := range drafts {
		p, err := w.Write(d)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	all, err := readAll(t, file.Bytes())
	if err != nil || len(all) != len(drafts) {
		t.Fatalf("%d records, %v", len(all), err)
	}
	for i, s := range all {
		if s.from != places[i].Offset || s.to-s.from != places[i].Length {
			t.Errorf("record %d is read from %d to %d, written at %+v", i, s.from, s.to, places[i])
		}
		alone := file.Bytes()[places[i].Offset:][:places[i].Length]
		if one, err := readAll(t, alone); err != nil || len(one) != 1 || one[0].head != s.head {
			t.Errorf("record %d by itself: %+v, %v", i, one, err)
		}
	}
	if all[1].head != page || all[1].body != body || all[2].head != page || all[2].body != "" {
		t.Errorf("response and revisit come back as %.80q and %.80q", all[1].body, all[2].body)
	}
	if all[3].url != "http://a.test/x  Evil: y" {
		t.Errorf("a field breaks out of its line: %q", all[3].url)
	}
	long := &RecordDraft{Type: Response, Date: then}
	long.Body, long.Size = strings.NewReader("1234"), 3
	if _, err := w.Write(long); !errors.Is(err, ErrLength) {
		t.Errorf("a body that is too long: %v", err)
	}
}

// Records in the shapes that other programs write are read, in all ways to compress them.
func TestForeignShapes(t *testing.T) {
	sum := sha1.Sum([]byte("4\r\nbody\r\n0\r\n\r\n"))
	digest := "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
	plainSum := sha256.Sum256([]byte("body"))
	chunkedHead := "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nX: 1\r\n 2\r\n\r\n"
	parts := []string{
		foreign("WARC-Type: warcinfo\r\nContent-Type: application/warc-fields\r\n", "software: Wget/1.21\r\n"),
		foreign("WARC-Type: request\r\nWARC-Target-URI: <http://a.test/>\r\n"+
			"Content-Type: application/http;msgtype=request\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		// wget: chunks in the body and in its digest, the target in angle brackets
		foreign("WARC-Type: response\r\nWARC-Target-URI: <http://a.test/>\r\nWARC-Payload-Digest: "+digest+
			"\r\nContent-Type: application/http;msgtype=response\r\n", chunkedHead+"4\r\nbody\r\n0\r\n\r\n"),
		// Heritrix: a folded field, a digest without the chunks
		foreign("WARC-Type: response\r\nWARC-Target-URI:\r\n http://b.test/\r\nWARC-Payload-Digest: sha-256:"+
			fmt.Sprintf("%X", plainSum)+"\r\n", chunkedHead+"4;x=y\r\nbody\r\n0\r\nTrailer: 1\r\n\r\n"),
		// Browsertrix: the chunks are gone and the field is there
		foreign("warc-type: response\r\nwarc-target-uri: http://c.test/\r\n", chunkedHead+"body without chunks"),
		foreign("WARC-Type: resource\r\nWARC-Target-URI: urn:x\r\nContent-Type: text/plain\r\n", "as it is"),
		foreign("WARC-Type: revisit\r\nWARC-Target-URI: http://a.test/\r\n",
			"HTTP/1.1 304 Not Modified\r\nETag: \"1\""),
		// wget: the digest of the block is that of nothing
		foreign("WARC-Type: revisit\r\nWARC-Target-URI: http://a.test/3\r\nWARC-Block-Digest: "+
			"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n", page),
		foreign("WARC-Type: revisit\r\nWARC-Target-URI: http://a.test/2\r\n", ""),
		strings.Replace(foreign("WARC-Type: response\r\nWARC-Target-URI: http://d.test/\r\n", page+"x"), "WARC/1.0",
			"WARC/0.18", 1),
	}
	last := strings.TrimRight(strings.Join(parts[2:], ""), "\r\n")
	dict := append([]byte(dictMagic), 0, 0, 0, 0)
	files := map[string][]byte{
		"plain":           []byte(strings.Join(parts, "")),
		"more lines":      []byte(strings.Join(parts, "\r\n\n")),
		"bare LF at ends": []byte(strings.Join(parts[:2], "") + last),
		"gzip":            gzipped(t, parts...),
		"one gzip member": gzipped(t, strings.Join(parts, "")),
		"gzip, some empty": slices.Concat(gzipped(t, ""), gzipped(t, parts[:4]...), gzipped(t, "", ""),
			gzipped(t, parts[4:]...), gzipped(t, "")),
		"zstd": zstdFrames(t, parts...),
		"zstd, some skipped": slices.Concat(zstdFrames(t, parts[:4]...), []byte(skipped+skipped),
			zstdFrames(t, parts[4:]...), []byte(skipped)),
		"zstd with dict": append(dict, zstdFrames(t, parts...)...),
	}
	for name, file := range files {
		if name == "zstd with dict" {
			if _, err := NewReader(bytes.NewReader(file)); err == nil {
				t.Error("an empty dictionary is taken")
			}
			continue
		}
		all, err := readAll(t, file)
		if err != nil || len(all) != len(parts) {
			t.Errorf("%s: %d records, %v", name, len(all), err)
			continue
		}
		for i, want := range []seen{
			{kind: Info, body: "software: Wget/1.21\r\n"},
			{kind: Request, url: "http://a.test/", head: "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"},
			{kind: Response, url: "http://a.test/", head: chunkedHead, body: "body"},
			{kind: Response, url: "http://b.test/", head: chunkedHead, body: "body"},
			{kind: Response, url: "http://c.test/", head: chunkedHead, body: "body without chunks"},
			{kind: Verbatim, url: "urn:x", body: "as it is"},
			{kind: Revisit, url: "http://a.test/", head: "HTTP/1.1 304 Not Modified\r\nETag: \"1\""},
			{kind: Revisit, url: "http://a.test/3", head: page},
			{kind: Revisit, url: "http://a.test/2"},
			{kind: Response, url: "http://d.test/", head: page, body: "x"},
		} {
			got := all[i]
			got.from, got.to = 0, 0
			if got != want {
				t.Errorf("%s, record %d: %+v, want %+v", name, i+1, got, want)
			}
		}
		if whole := name != "one gzip member"; whole != (all[4].to == all[5].from) && name == "gzip" {
			t.Errorf("%s: record 5 ends at %d, 6 begins at %d", name, all[4].to, all[5].from)
		}
		if !IsWARC(bytes.NewReader(file)) {
			t.Errorf("%s is recognized as something else", name)
		}
	}
}

// Errors of a file are reported with the number and offset of the record.
func TestDamage(t *testing.T) {
	head := "WARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
	first := foreign(head, page+"first")
	at := int64(len(first))
	members := gzipped(t, first, first)
	cut := int64(len(gzipped(t, first)))
	frame := int64(len(zstdFrames(t, first)))
	flipped := bytes.Clone(members)
	flipped[len(flipped)-6] ^= 1
	for name, c := range map[string]struct {
		file   []byte
		is     error
		record int
		offset int64
	}{
		"no record": {[]byte("hello, world"), ErrNotWARC, 1, 0},
		"too long":  {[]byte(first + strings.Replace(first, "Length: 6", "Length: 7", 1)), ErrLength, 2, at},
		"too short": {[]byte(first + strings.Replace(first, "Length: 6", "Length: 5", 1)), ErrLength, 2, at},
		"no length": {[]byte(first + "WARC/1.0\r\n" + head + "\r\n"), ErrLength, 2, at},
		"negative":  {[]byte(first + "WARC/1.0\r\nContent-Length: -1\r\n\r\n"), ErrLength, 2, at},
		"no fields": {[]byte(first + "WARC/1.0\r\nhello\r\n\r\n"), ErrNotWARC, 2, at},
		"cut head":  {[]byte(first + "WARC/1.0\r\n" + head), ErrNotWARC, 2, at},
		"long line": {[]byte(first + "WARC/1.0\r\nX: " + strings.Repeat("x", maxLine)), ErrNotWARC, 2, at},
		"digest": {[]byte(first + foreign(head+"WARC-Payload-Digest: md5:"+strings.Repeat("00", 16)+"\r\n",
			page)), ErrDigest, 2, at},
		"block digest": {[]byte(first + foreign(head+"WARC-Block-Digest: sha1:"+strings.Repeat("A", 32)+"\r\n",
			page)), ErrDigest, 2, at},
		"cut member":      {members[:len(members)-20], io.ErrUnexpectedEOF, 2, cut},
		"checksum":        {flipped, gzip.ErrChecksum, 2, cut},
		"text behind":     {append(bytes.Clone(members), "text"...), ErrNotWARC, 3, int64(len(members))},
		"cut frame":       {zstdFrames(t, first)[:50], io.ErrUnexpectedEOF, 1, 0},
		"cut skipped":     {append(zstdFrames(t, first), skipped[:9]...), io.ErrUnexpectedEOF, 2, frame},
		"large dict":      {[]byte(dictMagic + "\xff\xff\xff\xff"), ErrNotWARC, 1, 0},
		"dict of no form": {[]byte(dictMagic + "\x04\x00\x00\x00abcd"), nil, 1, 0},
	} {
		_, err := readAll(t, c.file)
		e, ok := errors.AsType[*RecordError](err)
		if !ok || e.Record != c.record || e.Offset != c.offset || (c.is != nil && !errors.Is(err, c.is)) {
			t.Errorf("%s: %v, want record %d at %d, %v", name, err, c.record, c.offset, c.is)
		}
	}
	if IsWARC(strings.NewReader("PK")) || IsWARC(bytes.NewReader(gzipped(t, "tar"))) {
		t.Error("other files are recognized as WARC")
	}
}

func TestSURT(t *testing.T) {
	for url, want := range map[string]string{
		"http://www.Example.org/A?b=2&a=1": "org,example)/a?a=1&b=2",
		"https://www2.example.org:444/":    "org,example:444)/",
		"https://wwwx.example.org/?":       "org,example,wwwx)/",
		"http://127.0.0.1:8080/x":          "1,0,0,127:8080)/x",
		"urn:x":                            "urn:x",
		"http://[::1]/%C3%A4":              "[::1])/%c3%a4",
	} {
		if got := SURT(url); got != want {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
}

func TestEntry(t *testing.T) {
	e := Entry{
		Key:    "test,a)/",
		Time:   Stamp(then),
		URL:    "http://a.test/",
		MIME:   "te\"xt/\\\x01é",
		Status: "200",
		Place:  Extent{5, 7},
		File:   "data.warc.gz",
	}
	line := string(e.Append(nil))
	if want := `test,a)/ 20261121095355 {"url":"http://a.test/","mime":"te\"xt/\\\u0001é","status":"200",` +
		`"length":"7","offset":"5","filename":"data.warc.gz"}` + "\n"; line != want {
		t.Errorf("line %s, want %s", line, want)
	}
	if got, err := ParseEntry(line); err != nil || got != e {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseEntry(`k 1 {"offset": 5, "length": 7, "status": 404}`); err != nil ||
		got.Place != e.Place || got.Status != "404" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "k", "k 1 {", `k 1 {"offset":"-1"}`, `k 1 {"offset":"x"}`} {
		if _, err := ParseEntry(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzReader(f *testing.F) {
	rec := foreign("WARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nWARC-Payload-Digest: sha1:"+
		strings.Repeat("A", 32)+"\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
	f.Add([]byte(rec + rec))
	f.Add(gzipped(f, rec, rec))
	f.Add(zstdFrames(f, rec, rec))
	f.Add([]byte(dictMagic + "\x04\x00\x00\x00abcd"))
	f.Fuzz(func(t *testing.T, file []byte) {
		IsWARC(bytes.NewReader(file))
		r, err := NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		defer r.Close()
		for end := int64(0); ; {
			rec, err := r.Next()
			if err != nil {
				if e, ok := errors.AsType[*RecordError](err); err != io.EOF && (!ok || e.Offset > int64(len(file))) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if rec.Offset < end && !rec.Shared {
				t.Fatalf("record at %d, the one before ends at %d", rec.Offset, end)
			}
			if _, err := rec.Entry(); err != nil {
				return
			}
			if rec.Number%2 == 0 {
				_, _, err = content(rec)
			} else {
				err = rec.Verify()
			}
			_ = err // of this record; the next ones may be read
			if end, err = r.End(); err != nil {
				return
			}
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(`test,a)/ 20261121095355 {"url":"http://a.test/","length":"7","offset":"5"}`)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := ParseEntry(line)
		if err != nil || strings.ContainsAny(e.Key+e.Time, "\n ") {
			return
		}
		again, err := ParseEntry(strings.TrimSuffix(string(e.Append(nil)), "\n"))
		if err != nil || again.Place != e.Place || again.Key != e.Key {
			t.Errorf("%q becomes %+v and %+v, %v", line, e, again, err)
		}
		SURT(e.URL)
	})
}

// Dates may be less precise than a second, and in forms that the standard does not know.
func TestDates(t *testing.T) {
	for date, want := range map[string]string{
		"2024-05-01T10:00:30.000000001Z": "2024-05-01T10:00:30Z",
		"2024-05-01T12:00+02:00":         "2024-05-01T10:00:00Z",
		"2024-05-01":                     "2024-05-01T00:00:00Z",
		"2024-05":                        "2024-05-01T00:00:00Z",
		"2024":                           "2024-01-01T00:00:00Z",
		"20240501100000":                 "2024-05-01T10:00:00Z",
		"2024-05-01 10:00:00":            "2024-05-01T10:00:00Z",
		"2024-05-01T12:00:00+0200":       "2024-05-01T10:00:00Z",
		"Wed, 01 May 2024 10:00:00 GMT":  "2024-05-01T10:00:00Z",
		"last week":                      "",
		"":                               "",
	} {
		if at := ParseDate(date); at.IsZero() != (want == "") || (want != "" && at.Format(time.RFC3339) != want) {
			t.Errorf("%q: %v", date, at)
		}
	}
}

// Records end in two empty lines; what some programs write there is no damage, and a record may go over
// several members.
func TestEnds(t *testing.T) {
	one := foreign("WARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n", page)
	bare := strings.TrimSuffix(one, "\r\n\r\n")
	cut := len(bare) / 2
	members := func(parts ...string) (s string) {
		for _, p := range parts {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			io.WriteString(z, p)
			z.Close()
			s += b.String()
		}
		return s
	}
	for name, file := range map[string]string{
		"one line end":          bare + "\r\n" + bare + "\r\n",
		"none":                  bare + bare,
		"line feeds":            bare + "\n\n" + bare + "\n",
		"many":                  one + "\r\n\r\n\n" + one + "\n\n",
		"zeros":                 one + strings.Repeat("\x00", 600) + one + strings.Repeat("\x00", 600),
		"zeros without ends":    bare + "\x00\x00\x00\x00\x00\x00" + one,
		"heads with line feeds": strings.Repeat(strings.ReplaceAll(bare[:cut], "\r\n", "\n")+bare[cut:]+"\n\n", 2),
		"members without ends":  members(bare, bare),
		"zeros behind members":  members(one) + "\x00\x00" + members(one) + strings.Repeat("\x00", 600),
		"zeros in members":      members(one+"\x00\x00", one+"\x00"),
		"two in one member":     members(one + bare + "\r\n"),
		"over two members":      members(one[:cut], one[cut:], bare[:3], bare[3:cut], "", bare[cut:]),
		"borders anywhere":      members(one+bare[:cut], bare[cut:]),
	} {
		got, err := Survey(strings.NewReader(file), func(Entry) error { return nil },
			func(err error) { t.Errorf("%s: %v", name, err) })
		if err != nil || got.Records != 2 || got.Responses != 2 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	bad := members(bare[:cut], one)
	_, err := Survey(strings.NewReader(bad), func(Entry) error { return nil }, func(error) {})
	if !errors.Is(err, ErrNotWARC) && !errors.Is(err, ErrLength) {
		t.Errorf("a record that is cut off before another one: %v", err)
	}
	missing := strings.Replace(one, "\r\n\r\nHTTP", "\r\nHTTP", 1)
	got, err := Survey(strings.NewReader(missing), func(Entry) error { return nil }, func(error) {})
	if err != nil || got.Responses != 1 {
		t.Errorf("no empty line behind the header: %+v, %v", got, err)
	}
}
