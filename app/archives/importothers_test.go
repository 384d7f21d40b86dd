// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/archive/warc"
	"mirrord/testing/apptest"
)

// An archive may have crawls of other sites, also older ones than those of the job's.
func TestImportAfterCrawlsOfOthers(t *testing.T) {
	var file strings.Builder
	for day, host := range []string{"other.test", "another.test", "h.test", "h.test"} {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" +
			fmt.Sprintf("<title>%s, day %d</title>", host, day)
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://%s/\r\n"+
			"WARC-Date: 2024-05-0%dT10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", host, day+1, len(block), block)
	}
	dir := t.TempDir()
	apptest.Put(t, dir, "x.warc", file.String())
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	r := ImportRequest{Files: []string{dir + "/x.warc"}, As: "old", URL: "http://h.test/"}
	m, err := ImportAny(t.Context(), a, r)
	if err != nil || len(m.Versions) != 2 || m.Versions[0].Time.Day() != 3 || m.Unused != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	r.As, r.URL = "none", "http://none.test/"
	if _, err := ImportAny(t.Context(), a, r); err == nil || !strings.Contains(err.Error(), "entry point") {
		t.Errorf("of no crawl: %v", err)
	}
}

// The entry point of a job may redirect out of its scope in the archive: the mirror begins there, and the
// user reads what to change.
func TestImportOfMovedSite(t *testing.T) {
	var file bytes.Buffer
	w := warc.NewWriter(&file)
	for _, x := range [][2]string{
		{"http://h.test/", "HTTP/1.1 301 Moved\r\nLocation: https://www.h.test/\r\n\r\n"},
		{"https://www.h.test/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/a.html>a</a>"},
		{"https://www.h.test/a.html", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a"},
	} {
		if _, err := w.Write(&warc.RecordDraft{
			Type: warc.Response,
			URL:  x[0],
			Date: time.Unix(apptest.ChangingStart, 0),
			Head: []byte(x[1]),
		}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	apptest.Put(t, dir, "x.warc.gz", file.String())
	for name, says := range map[string]string{
		"url = \"http://h.test/\"\n":                                      "https://www.h.test/",
		"url = \"https://www.h.test/\"\n":                                 "",
		"url = \"http://h.test/\"\n[scope]\naliases = [\"www.h.test\"]\n": "https://www.h.test/",
		"url = [\"https://www.h.test/a.html\", \"http://h.test/\"]\n":     "",
	} {
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		var warned []string
		a.Warn = func(line string) { warned = append(warned, line) }
		apptest.Put(t, a.Jobs, "old.toml", name)
		m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir + "/x.warc.gz"}, As: "old"})
		if err != nil || len(m.Versions) != 1 || m.Versions[0].Files != 2 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if got := strings.Join(warned, " "); (got != "") != (says != "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An ARC file that is cut off has one damaged record.
func TestImportOfCutARC(t *testing.T) {
	text := "filedesc://x.arc 0.0.0.0 20040501100000 text/plain 9\n1 0 x\n\n\n\n\n"
	for _, name := range []string{"", "a.html"} {
		body := "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=a.html>a</a> " + name
		text += fmt.Sprintf("http://h.test/%s 10.0.0.1 20040501100001 text/html %d\n%s\n", name, len(body), body)
	}
	dir := t.TempDir()
	apptest.Put(t, dir, "x.arc", text[:len(text)-5])
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	r := ImportRequest{Files: []string{dir + "/x.arc"}, As: "old"}
	if _, err := ImportAny(t.Context(), a, r); env.FieldOf(err) != env.FieldDamaged {
		t.Errorf("%v", err)
	}
	r.Lenient = true
	m, err := ImportAny(t.Context(), a, r)
	if err != nil || m.Counted.Damaged != 1 || m.Versions[0].Files != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}
