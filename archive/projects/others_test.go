// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"mirrord/archive/warc"
)

const (
	arcInfo1 = "filedesc://old.arc.gz 0.0.0.0 19980501100000 text/plain %d\n%s\n"
	arcInfo2 = "filedesc://old.arc.gz 0.0.0.0 19980501100000 text/plain 200 - - 0 old.arc %d\n%s\n"
	block1   = "1 0 AlexaInternet\nURL IP-address Archive-date Content-type Archive-length\n"
	block11  = "1 1 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n<arcmetadata/>\n"
	block2   = "2 0 Alexa\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset " +
		"Filename Archive-length\n"
)

// arcRecords are records of version 1 and 2.
func arcRecords(two bool) (all []string) {
	info, block := arcInfo1, block1
	if two {
		info, block = arcInfo2, block2
	}
	all = append(all, fmt.Sprintf(info, len(block), block))
	for _, r := range [][3]string{
		{"http://h.test/", "text/html", "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html>home"},
		{"http://h.test/a b.html", "text/html", "HTTP/1.1 200 OK\nContent-Type: text/html\n\n<html>a"},
		{"http://h.test/bare", "text/plain", "no head"},
		{"dns:h.test", "text/dns", "19980501100000\nh.test. 1 IN A 10.0.0.1\n"},
	} {
		more := ""
		if two {
			more = " 200 1a2b - 17 old.arc"
		}
		all = append(all, fmt.Sprintf("%s 10.0.0.1 19980501100001 %s%s %d\n%s\n", r[0], r[1], more, len(r[2]),
			r[2]))
	}
	return all
}

func pack(t testing.TB, texts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// ARC files of both versions, plain and in gzip, give the answers of the site.
func TestARC(t *testing.T) {
	one, two := arcRecords(false), arcRecords(true)
	zeros := strings.Repeat("\x00", 70<<10)
	inner := append([]string{fmt.Sprintf(arcInfo1, len(block11), block11)}, one[1:]...)
	for name, file := range map[string]string{
		"1.0": strings.Join(one, ""), "1.0 in gzip": pack(t, one...), "1.1": strings.Join(inner, ""),
		"2.0": strings.Join(two, ""), "2.0 in one stream": pack(t, strings.Join(two, "")),
		"2.0 in gzip, with zeros behind members": pack(t, two[0]) + "\x00" + pack(t, two[1:]...) + zeros,
		"1.0 with zeros":                         strings.Join(one, "") + zeros,
		"without line ends":                      strings.TrimSuffix(strings.Join(one, ""), "\n"),
	} {
		if !IsARC(strings.NewReader(file), int64(len(file))) {
			t.Errorf("%s: it is not known", name)
		}
		var out bytes.Buffer
		got, err := ARC(strings.NewReader(file), false, warc.NewWriter(&out))
		if err != nil || got.Answers != 3 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		wantTaken(t, answersIn(t, &out), map[string]string{
			"http://h.test/":         "200 OK text/html  <html>home",
			"http://h.test/a b.html": "200 OK text/html  <html>a",
			"http://h.test/bare":     "200 OK text/plain  no head",
		})
	}
	cut := strings.Join(one[:3], "")
	cut = cut[:len(cut)-20]
	for name, file := range map[string]string{
		"cut off": cut, "junk": one[0] + one[1] + "junk\n" + one[2],
		"cut in a line": pack(t, one[0]) + pack(t, one[1]) + pack(t, one[2])[:25],
	} {
		_, err := ARC(strings.NewReader(file), false, warc.NewWriter(io.Discard))
		if _, ok := errors.AsType[*warc.RecordError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		got, err := ARC(strings.NewReader(file), true, warc.NewWriter(io.Discard))
		damaged := 1
		if name == "cut off" {
			damaged = 0 // who reads the records counts it
		}
		if err != nil || got.Answers == 0 || got.Damaged != damaged || got.Cut != (damaged == 0) ||
			len(got.Wrong) != 1 {
			t.Errorf("%s, lenient: %+v, %v", name, got, err)
		}
	}
}

const saved = `From: <Saved by Blink>
Snapshot-Content-Location: https://h.test/dir/page
Subject: x
Date: Wed, 1 May 2024 10:00:00 -0000
MIME-Version: 1.0
Content-Type: multipart/related;
	type="text/html";
	boundary="----B--x----"


------B--x----
Content-Type: text/html
Content-ID: <frame-1@mhtml.blink>
Content-Transfer-Encoding: quoted-printable
Content-Location: https://h.test/dir/page

<html><img src=3D"/i.png"><link href=3D"cid:css-1@mhtml.bl=
ink">
------B--x----
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-Location: https://h.test/i.png

cG5n

------B--x----
Content-Type: text/css
Content-Transfer-Encoding: 8bit
Content-Location: cid:css-1@mhtml.blink

a{}
------B--x------
`

// A page that a browser saved is a small crawl: of the page, at its address, and of what it shows.
func TestMHTML(t *testing.T) {
	for name, text := range map[string]string{"CRLF": strings.ReplaceAll(saved, "\n", "\r\n"), "LF": saved} {
		if !IsMHTML(strings.NewReader(text), int64(len(text))) {
			t.Errorf("%s: it is not known", name)
		}
		var out bytes.Buffer
		got, err := MHTML(strings.NewReader(text), time.Time{}, false, warc.NewWriter(&out))
		if err != nil || got.Answers != 3 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		const css = "https://h.test/dir/mhtml-parts/css-1@mhtml.blink"
		wantTaken(t, answersIn(t, &out), map[string]string{
			"https://h.test/dir/page": `200 OK text/html  <html><img src="/i.png"><link href="` + css + `">`,
			"https://h.test/i.png":    "200 OK image/png  png",
			css:                       "200 OK text/css  a{}",
		})
		cut := text[:len(text)-20]
		_, err = MHTML(strings.NewReader(cut), time.Time{}, false, warc.NewWriter(io.Discard))
		if e, ok := errors.AsType[*warc.RecordError](err); !ok || e.Offset != int64(len(cut)) {
			t.Errorf("%s, cut: %v", name, err)
		}
		got, err = MHTML(strings.NewReader(cut), time.Time{}, true, warc.NewWriter(io.Discard))
		if err != nil || got.Damaged != 1 || len(got.Wrong) != 1 || got.Answers == 0 {
			t.Errorf("%s, cut, lenient: %+v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "From: a\r\n\r\nhello",
		"MIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\nx"} {
		if _, err := MHTML(strings.NewReader(text), time.Time{}, true, warc.NewWriter(io.Discard)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

const seen = "\xef\xbb\xbf" + `{"log": {"version": "1.2", "pages": [{"id": "p"}], "entries": [
{"startedDateTime": "2024-05-01T10:00:00.123Z", "request": {"method": "GET", "url": "http://h.test/"},
 "response": {"status": 301, "statusText": "Moved", "headers": [], "redirectURL": "https://h.test/",
  "content": {"size": 0, "mimeType": "x-unknown"}}},
{"startedDateTime": "2024-05-01T10:00:01.123+02:00",
 "request": {"method": "GET", "url": "https://h.test/#top"},
 "response": {"status": 200, "statusText": "", "headers": [{"name": ":status", "value": "200"},
  {"name": "content-encoding", "value": "br"}, {"name": "etag", "value": "\"e\""}],
  "content": {"size": 9, "mimeType": "text/html; charset=iso-8859-1", "text": "<p>caf\u00e9"}}},
{"request": {"method": "GET", "url": "https://h.test/i.png"}, "response": {"status": 200, "statusText": "OK",
  "headers": [], "content": {"size": 3, "mimeType": "image/png", "text": "cG5n", "encoding": "base64"}}},
{"request": {"method": "GET", "url": "https://h.test/none"}, "response": {"status": 200, "headers": [],
  "content": {"size": 30, "mimeType": "text/html"}}},
{"request": {"method": "POST", "url": "https://h.test/api"}, "response": {"status": 200, "headers": [],
  "content": {"size": 2, "mimeType": "application/json", "text": "{}"}}},
{"request": {"method": "GET", "url": "https://h.test/blocked"}, "response": {"status": 0, "headers": [],
  "content": {}}}], "comment": {"a": [1]}}}`

// What a browser saw of the network is a small crawl, with the heads and without codings.
func TestHAR(t *testing.T) {
	if !LikeHAR([]byte(seen)) || LikeHAR([]byte("[]")) {
		t.Error("it is not known")
	}
	var out bytes.Buffer
	got, err := HAR(strings.NewReader(seen), time.Unix(1e9, 0), warc.NewWriter(&out))
	if err != nil || got.Answers != 3 || got.Lost != 1 || got.Other != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(unpacked(t, out.Bytes()), "\r\netag: \"e\"\r\n") {
		t.Error("fields of the answer are lost")
	}
	wantTaken(t, answersIn(t, &out), map[string]string{
		"http://h.test/":       "301 Moved x-unknown https://h.test/",
		"https://h.test/":      "200 text/html; charset=utf-8  <p>café",
		"https://h.test/i.png": "200 OK image/png  png",
	})
	for _, bad := range []string{"", "{}", `{"log": {}}`, `{"log": []}`, seen[:len(seen)-200]} {
		if _, err := HAR(strings.NewReader(bad), time.Time{}, warc.NewWriter(io.Discard)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func unpacked(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wellFormed reads the records that a reader wrote of bytes of others.
func wellFormed(t *testing.T, name string, out *bytes.Buffer) {
	t.Helper()
	if _, err := warc.Survey(out, func(warc.Entry) error { return nil }, func(err error) {
		t.Errorf("%s: %v", name, err)
	}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Bytes that anybody made are read or refused, and what comes of them are records.
func FuzzOthers(f *testing.F) {
	f.Add([]byte(strings.Join(arcRecords(false), "")), true)
	f.Add([]byte(pack(f, arcRecords(true)...)), false)
	f.Add([]byte(strings.Join(arcRecords(false), "")[:500]), true)
	f.Add([]byte(saved), false)
	f.Add([]byte(seen), false)
	f.Fuzz(func(t *testing.T, b []byte, lenient bool) {
		var out bytes.Buffer
		t0, err := ARC(bytes.NewReader(b), lenient, warc.NewWriter(&out))
		if err == nil && !t0.Cut {
			wellFormed(t, "arc", &out)
		}
		out.Reset()
		if _, err := MHTML(bytes.NewReader(b), time.Unix(1e9, 0), true, warc.NewWriter(&out)); err == nil {
			wellFormed(t, "mhtml", &out)
		}
		out.Reset()
		if _, err := HAR(bytes.NewReader(b), time.Unix(1e9, 0), warc.NewWriter(&out)); err == nil {
			wellFormed(t, "har", &out)
		}
	})
}
