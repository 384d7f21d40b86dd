// SPDX-License-Identifier: Apache-2.0

package care

import (
	"archive/zip"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/runs"
	"mirrord/app/serving"
	"mirrord/archive/warc"
	"mirrord/scheduler/control"
	"mirrord/testing/apptest"
)

// foreignCrawls writes files of other programs with two pages and a picture of a site, each in the shape of
// its program.
func foreignCrawls(site string) map[string]string {
	const home = `<title>Home</title><a href="/a.html">A</a><img src="/i.gif">`
	const page = `<title>A</title><a href="/">h</a>`
	type got struct{ path, mime, body string }
	all := []got{{"/", "text/html", home}, {"/a.html", "text/html", page}, {"/i.gif", "image/gif", "GIF89a"}}
	arc := "1 0 x\nURL IP-address Archive-date Content-type Archive-length\n"
	arc = fmt.Sprintf("filedesc://x.arc 0.0.0.0 20010501100000 text/plain %d\n%s\n", len(arc), arc)
	var nodeWARC, undated, mhtml strings.Builder
	mhtml.WriteString("From: <Saved by Blink>\r\nSnapshot-Content-Location: " + site + "/\r\n" +
		"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"B\"\r\n\r\n")
	har := map[string]any{"version": "1.2"}
	var entries []any
	for _, g := range all {
		block := "HTTP/1.1 200 OK\r\nContent-Type: " + g.mime + "\r\n\r\n" + g.body
		arc += fmt.Sprintf("%s%s 127.0.0.1 20010501100001 %s %d\n%s\n", site, g.path, g.mime, len(block), block)
		record := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s%s\r\nWARC-Date: %%s\r\n"+
			"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s", site, g.path,
			len(block), block)
		nodeWARC.WriteString(fmt.Sprintf(record, "2019-05-01T10:00:00Z") + "\r\n")
		undated.WriteString(fmt.Sprintf(record, "yesterday") + "\r\n\r\n\x00\x00")
		mhtml.WriteString("--B\r\nContent-Type: " + g.mime + "\r\nContent-Transfer-Encoding: base64\r\n" +
			"Content-Location: " + site + g.path + "\r\n\r\n" +
			base64.StdEncoding.EncodeToString([]byte(g.body)) + "\r\n")
		entries = append(entries, map[string]any{
			"startedDateTime": "2024-05-01T10:00:00.000Z",
			"request":         map[string]any{"method": "GET", "url": site + g.path},
			"response": map[string]any{"status": 200, "statusText": "OK", "headers": []any{},
				"content": map[string]any{"size": len(g.body), "mimeType": g.mime, "text": g.body}},
		})
	}
	har["entries"] = entries
	text, err := json.Marshal(map[string]any{"log": har})
	if err != nil {
		panic(err)
	}
	return map[string]string{
		"padded.arc.gz": packedText(arc) + strings.Repeat("\x00", 512), "extension.wacz": waczOf(site, home, page),
		"x.arc": arc, "node.warc": nodeWARC.String(), "undated.warc": undated.String(),
		"x.mhtml": mhtml.String() + "--B--\r\n", "x.har": string(text),
	}
}

func packedText(text string) string {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// waczOf is a WACZ file as ArchiveWeb.page writes it: with times of 17 digits, pages that are seeds, and no
// digest.
func waczOf(site, home, page string) string {
	var data, index, out strings.Builder
	for i, g := range [][3]string{{"/", "text/html", home}, {"/a.html", "text/html", page},
		{"/i.gif", "image/gif", "GIF89a"}} {
		block := "HTTP/1.1 200 OK\r\nContent-Type: " + g[1] + "\r\n\r\n" + g[2]
		member := packedText(fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s%s\r\n"+
			"WARC-Date: 2024-05-01T10:00:0%d.245Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", site, g[0], i, len(block), block))
		fmt.Fprintf(&index, `%s 2024050110000%d245 {"url":"%s%s","mime":"%s","status":200,"offset":%d,`+
			`"length":%d,"filename":"data.warc.gz"}`+"\n", warc.SURT(site+g[0]), i, site, g[0], g[1], data.Len(),
			len(member))
		data.WriteString(member)
	}
	z := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"archive/data.warc.gz", data.String()}, {"indexes/index.cdx", index.String()},
		{"pages/pages.jsonl", `{"format":"json-pages-1.0","id":"pages"}` + "\n" + `{"url":"` + site +
			`/","ts":"2024-05-01T10:00:00.245Z","seed":true}` + "\n"},
		{"datapackage.json", `{"profile":"data-package","wacz_version":"1.1.1","resources":[]}`},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f[0], Method: zip.Store})
		if err != nil {
			panic(err)
		}
		io.WriteString(w, f[1])
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.String()
}

// A file of each kind of other programs is verified, explained, served, imported, updated from the
// site, and exported.
func TestForeignCrawls(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/a.html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<title>New</title><a href="/a.html">A</a><img src="/i.gif"><p>%s`, r.URL.Path)
		case "/i.gif":
			w.Header().Set("Content-Type", "image/gif")
			fmt.Fprint(w, "GIF89a")
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for name, text := range foreignCrawls(srv.URL) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			apptest.Put(t, dir, name, text)
			file := filepath.Join(dir, name)
			a := apptest.TestApp(t.TempDir())
			a.Jobs = t.TempDir()
			if r, err := Verify(t.Context(), a, file, false); err != nil || len(r.Problems) > 0 {
				t.Fatalf("verify: %+v, %v", r, err)
			}
			x, err := archives.ExplainFile(t.Context(), a, file, srv.URL+"/a.html", true)
			if err != nil || len(x.Answers) != 1 || !strings.Contains(x.Head, " 200 OK") {
				t.Errorf("explain: %+v, %v", x, err)
			}
			sites, err := serving.OpenFiles(t.Context(), a, []string{file})
			if err != nil {
				t.Fatal(err)
			}
			defer sites.Close()
			names, err := sites.Names()
			if err != nil || len(names) != 1 {
				t.Fatalf("%q, %v", names, err)
			}
			served, err := sites.Site(names[0])
			if err != nil {
				t.Fatal(err)
			}
			if s, err := served.Snapshot(t.Context(), 0); err != nil || s.Files != 3 || s.Bytes < 80 {
				t.Errorf("served: %+v, %v", s, err)
			}
			wantServed(t, sites, names[0], map[string]string{"/": "<title>Home", "/i.gif": "GIF89a"})
			m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{
				Files: []string{file},
				As:    "old",
				Job:   true,
			})
			if err != nil || len(m.Versions) != 1 || m.Versions[0].Files != 3 || m.URL != srv.URL+"/" {
				t.Fatalf("import: %+v, %v", m, err)
			}
			set := []string{"polite.delay=0s", "polite.factor=0"}
			r := runs.RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}}
			if sum, err := runs.RunNow(t.Context(), a, r); err != nil || !sum.Published || sum.Version != 2 {
				t.Fatalf("run: %+v, %v", sum, err)
			}
			out := filepath.Join(dir, "out.wacz")
			e, err := archives.Export(t.Context(), a, archives.ExportRequest{
				Job:         "old",
				Out:         out,
				Format:      "wacz",
				AllVersions: true,
			})
			if err != nil || e.Versions != 2 {
				t.Fatalf("export: %+v, %v", e, err)
			}
			if r, err := Verify(t.Context(), a, out, false); err != nil || len(r.Problems) > 0 {
				t.Errorf("verify: %+v, %v", r, err)
			}
		})
	}
}
