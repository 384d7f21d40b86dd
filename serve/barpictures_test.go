// SPDX-License-Identifier: Apache-2.0

//go:build browser

package serve

import (
	"context"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
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
	s := &fakeSite{primary: origin[:len(origin)-1]}
	for n := 1; n <= 12; n++ {
		v := &fakeVersion{Version: Version{n, time.Date(2026, 8, 30+7*n, 4, 0, 0, 0, time.UTC)}, site: s}
		v.files = []fakeFile{{url: origin + "visit.html", path: "visit.html", mime: "text/html", body: observatory}}
		if n < 12 {
			v.files = append(v.files, fakeFile{
				url:  origin + "old.html",
				path: "old.html",
				mime: "text/html",
				body: "old",
			})
		}
		s.versions = append(s.versions, v)
	}
	return fakeSites{"kestrel": s}
}

// TestBarPicturesBrowser takes the pictures of docs/serve.md, in the directory that MIRRORD_SHOTS names, of a
// desktop, in the dark and of a phone, where nothing is wider than the screen.
func TestBarPicturesBrowser(t *testing.T) {
	dir := os.Getenv("MIRRORD_SHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	s, err := New(Options{Sites: pictureSites(), Texts: testTexts()})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx := browsertest.New(t)
	for _, page := range []struct{ name, path, script, want string }{
		{"bar", "/visit.html", `document.querySelector("details").open = true`, "version 12 of 12"},
		{"missing", "/old.html", ``, "Earlier versions"},
	} {
		for _, kind := range []struct {
			suffix, scheme string
			wide           int64
		}{{"", "light", 1280}, {"-dark", "dark", 1280}, {"-phone", "light", 390}} {
			look := func(ctx context.Context, tab *chromedp.Target) (v chromedp.Void, err error) {
				_, err = cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: kind.scheme}},
				})
				return v, err
			}
			err := chromedp.Do(ctx, chromedp.EmulateViewport(kind.wide, 500), look)
			if err == nil {
				err = browsertest.Load(ctx, "http://kestrel.localhost:"+at.Port()+page.path)
			}
			if err == nil {
				err = chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](page.script))
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := chromedp.Run(ctx, chromedp.Evaluate[string](
				`document.documentElement.scrollWidth > innerWidth ? "wider than the screen" : document.body.innerText`))
			if err != nil || !strings.Contains(text, page.want) {
				t.Errorf("%s%s: %v\n%s", page.name, kind.suffix, err, text)
			}
			png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "serve-"+page.name+kind.suffix+".png"), png, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
