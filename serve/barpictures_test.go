// SPDX-License-Identifier: Apache-2.0

//go:build browser

package serve

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"mirrord/testing/browsertest"
)

const observatory = `<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width">
<title>Opening hours</title><style>html { background: #fff; color: #222; color-scheme: light }
body { max-width: 640px; margin: 30px auto; padding: 0 16px; font: 17px/1.6 serif }</style></head><body>
<h1>Opening hours</h1><p>The observatory is open to visitors from Wednesday to Sunday, from 20:00 to 23:00. Groups
of more than eight write to the keeper a week before.</p><p>In bad weather the lecture takes place in the
library.</p></body></html>`

// pictureSites is a mirror with twelve versions, the last of which lacks a page.
func pictureSites() fakeSites {
	const origin = "https://kestrel.example/"
	s := &fakeSite{primary: origin[:len(origin)-1], title: "Kestrel Observatory"}
	for n := 1; n <= 12; n++ {
		v := &fakeVersion{Version: Version{n, time.Date(2026, 8, 30+7*n, 4, 0, 0, 0, time.UTC)}, site: s}
		visit := observatory
		if n < 6 {
			visit = strings.NewReplacer("Wednesday", "Thursday", "20:00", "19:00").Replace(visit)
		}
		v.files = []fakeFile{{url: origin + "visit.html", path: "visit.html", mime: "text/html", body: visit},
			{url: origin + "gallery/", path: "gallery/index.html", mime: "text/html", body: "gallery"}}
		if n < 12 {
			v.files = append(v.files, fakeFile{
				url:  origin + "gallery/plates/old-12.html",
				path: "gallery/plates/old-12.html",
				mime: "text/html",
				body: "old",
			})
		}
		s.versions = append(s.versions, v)
	}
	return fakeSites{"kestrel": s}
}

// readerPage is a page for readers, with what it says.
type readerPage struct{ name, at, language, script, want string }

// eachReaderPage shows pages for readers in a browser, on a desktop, in the dark and on a phone, none of them
// wider than the screen, and calls do with the name of each.
func eachReaderPage(t *testing.T, do func(ctx context.Context, name string)) {
	s, err := New(Options{Sites: pictureSites(), Texts: testTexts()})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	port := strings.TrimPrefix(srv.URL, "http://127.0.0.1")
	base, mirror := "http://localhost"+port, "http://kestrel.localhost"+port
	const calendar = `document.querySelector("details").open = true`
	ctx := browsertest.New(t)
	pages := []readerPage{
		{"bar", mirror + "/visit.html", "en", calendar, "version 12 of 12"},
		{"missing", mirror + "/gallery/plates/old-12.html", "en", "", "on 22 Nov 2026. The site answered 404."},
		{"changed", base + "/~kestrel" + changedPath + "20261011040000/https://kestrel.example/visit.html", "en",
			"", "from Wednesday to Sunday, from 20:00"},
		{"list", base + "/", "en", "", "Kestrel Observatory"},
		{"find", base + findPath + "?q=hours", "en", "", "Results: 0"},
		{"no-mirror", base + "/nosuch/", "en", "", "no such mirror"},
	}
	all, err := readLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all.all[1:] {
		pages = append(pages,
			readerPage{"bar-" + w.Lang, mirror + "/visit.html", w.Lang, calendar, w.Live},
			readerPage{"missing-" + w.Lang, mirror + "/gallery/plates/old-12.html", w.Lang, "", w.Missing},
			readerPage{"never-" + w.Lang, mirror + "/nosuch", w.Lang, "", w.Never},
			readerPage{"changed-" + w.Lang, base + "/~kestrel" + changedPath +
				"20261011040000/https://kestrel.example/visit.html", w.Lang, "", w.Changed},
			readerPage{"list-" + w.Lang, base + "/", w.Lang, "", w.Mirrors},
			readerPage{"find-" + w.Lang, base + findPath + "?q=hours", w.Lang, "", w.Words})
	}
	for _, page := range pages {
		for _, kind := range []struct {
			suffix, scheme string
			wide           int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-phone", "light", 390}} {
			look := func(ctx context.Context, tab *chromedp.Target) (v chromedp.Void, err error) {
				_, err = cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: kind.scheme}},
				})
				if err == nil {
					_, err = cdp.Call(ctx, tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
						Headers: network.Headers{"Accept-Language": page.language},
					})
				}
				return v, err
			}
			err := chromedp.Do(ctx, chromedp.EmulateViewport(kind.wide, 500), look)
			if err == nil {
				err = browsertest.Load(ctx, page.at)
			}
			if err == nil {
				err = chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](page.script))
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`
				document.documentElement.scrollWidth > innerWidth ? "wider than the screen" : document.body.innerText`))
			if err != nil || !strings.Contains(text, page.want) {
				t.Errorf("%s%s: %v\n%s", page.name, kind.suffix, err, text)
			}
			do(ctx, page.name+kind.suffix)
		}
	}
}

// TestBarPicturesBrowser takes the pictures of docs/serve.md, in the directory that MIRRORD_SHOTS names.
func TestBarPicturesBrowser(t *testing.T) {
	dir := os.Getenv("MIRRORD_SHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	eachReaderPage(t, func(ctx context.Context, name string) {
		png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "serve-"+name+".png"), png, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestOracleAxe lets axe-core look at the pages for readers.
func TestOracleAxe(t *testing.T) {
	dir := os.Getenv("MIRRORD_ORACLES")
	if dir == "" {
		t.Skip("MIRRORD_ORACLES is not set: run .ci/run oracles")
	}
	axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	eachReaderPage(t, func(ctx context.Context, name string) {
		err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](string(axe)+"; 0"))
		if err != nil {
			t.Fatal(err)
		}
		found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`axe.run({exclude: "iframe"}).then(r => r.violations.map(
			v => v.id + ": " + v.nodes.map(n => n.html).slice(0, 3).join(" ")).join("\n"))`, chromedp.EvalAwaitPromise))
		if err != nil || found != "" {
			t.Errorf("%s: %v\n%s", name, err, found)
		}
	})
}
