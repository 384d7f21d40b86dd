// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/archive/warc"
)

// A HAR file of any program gives what the site answered, each with its date. The files are one visit as each
// of them writes it: a redirect, a page in another encoding that came in gzip, a picture, a request of a
// script.
func TestHARsOfOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/har/*.har")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".har")
		var out bytes.Buffer
		got, err := HAR(bytes.NewReader(text), time.Time{}, warc.NewWriter(&out))
		if err != nil || got.Answers != 3 || got.Lost > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		records := unpacked(t, out.Bytes())
		if n := strings.Count(records, "WARC-Date: 2024-05-01T10:00:0"); n < 3 {
			t.Errorf("%s: %d records have their date", name, n)
		}
		if name == "chrome" && !strings.Contains(records, "set-cookie: a=1\r\nset-cookie: b=2\r\n") {
			t.Errorf("%s: fields that came twice are one", name)
		}
		page := "; charset=utf-8  <p>café"
		if name == "charles" {
			page = "; charset=iso-8859-1  " + pack(t, "<p>caf\xe9")
			if !strings.Contains(records, "content-encoding: gzip\r\n") {
				t.Errorf("%s: the coding of the body is lost", name)
			}
		}
		all := answersIn(t, &out)
		if a := all["https://h.test/"]; !strings.HasSuffix(a, page) {
			t.Errorf("%s: %q, want %q", name, a, page)
		}
		if a := all["https://h.test/old"]; !strings.HasPrefix(a, "302") || !strings.Contains(a, "/") {
			t.Errorf("%s: %q", name, a)
		}
		if a := all["https://h.test/i.png"]; !strings.HasSuffix(a, "image/png  png") {
			t.Errorf("%s: %q", name, a)
		}
	}
}

// A body that was not saved is counted, whichever field says that there was one.
func TestHARWithoutBodies(t *testing.T) {
	for content, lost := range map[string]int{
		`"content": {"size": 7}`: 1, `"content": {"size": -1}, "bodySize": 9`: 1, `"content": {"size": 0}`: 0,
		`"content": {"size": 7, "text": "%%%", "encoding": "base64"}`: 1,
		`"content": {"size": 7, "_file": "a.html", "text": null}`:     1,
	} {
		text := `{"log": {"entries": [{"request": {"method": "GET", "url": "http://h.test/"}, "response": {"status":
			200, ` + content + `}}]}}`
		var out bytes.Buffer
		got, err := HAR(strings.NewReader(text), time.Unix(1e9, 0), warc.NewWriter(&out))
		if err != nil || got.Lost != lost || got.Answers != 1-lost {
			t.Errorf("%s: %+v, %v", content, got, err)
		}
	}
}
