// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mirrord/site"
)

// benchPages returns the pages that the benchmarks share: the HTML files of testdata, or up to 64 MB of those
// below the directory named by RELOCATE_PAGES.
func benchPages(tb testing.TB) (pages [][]byte, total int64) {
	dir := os.Getenv("RELOCATE_PAGES")
	if dir == "" {
		dir = "testdata"
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") || total > 64<<20 {
			return err
		}
		b, err := os.ReadFile(path)
		pages, total = append(pages, b), total+int64(len(b))
		return err
	})
	if err != nil || len(pages) == 0 {
		tb.Fatalf("no pages below %s (set RELOCATE_PAGES to a directory of HTML files): %v", dir, err)
	}
	return pages, total
}

func benchURL(tb testing.TB) site.URL {
	u, _, err := site.Parse("https://docs.example.org/manual/guide/index.html")
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func BenchmarkScan(b *testing.B) {
	pages, total := benchPages(b)
	in := Input{URL: benchURL(b), Format: HTML}
	var d Doc
	links := 0
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		links = 0
		for _, p := range pages {
			if err := d.Scan(p, in); err != nil {
				b.Fatal(err)
			}
			links += len(d.Links)
		}
	}
	b.ReportMetric(float64(total)/float64(links), "B/link")
}

// BenchmarkScanSplice is the whole of phase one and two for a page: scan, then replace every link.
func BenchmarkScanSplice(b *testing.B) {
	pages, total := benchPages(b)
	in := Input{URL: benchURL(b), Format: HTML}
	var d Doc
	var out []byte
	ref := []byte("../some/other/page.html")
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pages {
			if err := d.Scan(p, in); err != nil {
				b.Fatal(err)
			}
			out, _ = replaceLinks(out[:0], p, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
				return ref, true, true
			})
		}
	}
}

func BenchmarkSplice(b *testing.B) {
	pages, total := benchPages(b)
	docs := make([]Doc, len(pages))
	for i, p := range pages {
		if err := docs[i].Scan(p, Input{URL: benchURL(b), Format: HTML}); err != nil {
			b.Fatal(err)
		}
	}
	var out []byte
	ref := []byte("../some/other/page.html")
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		for i, p := range pages {
			d := &docs[i]
			out, _ = replaceLinks(out[:0], p, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
				return ref, true, true
			})
		}
	}
}

// BenchmarkXNetTokenizer is what a splice by golang.org/x/net/html would at least cost: every tag with its
// attributes.
func BenchmarkXNetTokenizer(b *testing.B) {
	pages, total := benchPages(b)
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		tokenizeAll(pages)
	}
}

func tokenizeAll(pages [][]byte) {
	for _, p := range pages {
		z := html.NewTokenizer(bytes.NewReader(p))
		for tt := z.Next(); tt != html.ErrorToken; tt = z.Next() {
			if tt == html.StartTagToken || tt == html.SelfClosingTagToken {
				for _, more := z.TagName(); more; {
					_, _, more = z.TagAttr()
				}
			}
		}
	}
}

// BenchmarkXNetTokenizerNextOnly leaves even tag names and attributes unread.
func BenchmarkXNetTokenizerNextOnly(b *testing.B) {
	pages, total := benchPages(b)
	b.SetBytes(total)
	for b.Loop() {
		for _, p := range pages {
			z := html.NewTokenizer(bytes.NewReader(p))
			for z.Next() != html.ErrorToken {
			}
		}
	}
}

// BenchmarkIndexByte is the floor: a jump from '<' to '<' and nothing else.
func BenchmarkIndexByte(b *testing.B) {
	pages, total := benchPages(b)
	n := 0
	b.SetBytes(total)
	for b.Loop() {
		n += indexAll(pages)
	}
	if n == 0 {
		b.Fatal("no tags")
	}
}

func indexAll(pages [][]byte) (n int) {
	for _, p := range pages {
		for {
			i := bytes.IndexByte(p, '<')
			if i < 0 {
				break
			}
			n++
			p = p[i+1:]
		}
	}
	return n
}
