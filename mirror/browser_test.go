// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"mirrord/internal/demosite"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/testing/browsertest"
	"mirrord/testing/mirrortest"
)

// pageState is what a page in the browser says of itself.
type pageState struct {
	Broken []string // images that did not load
	Styles []string // style sheets that did not load
	Links  []string // where its links lead
	Base   string
}

const inspect = `Promise.all([...document.images].map(i => { i.loading = 'eager'; return i.decode().catch(() => 0) })).then(() => ({
	Broken: [...document.images].filter(i => i.src && !(i.complete && i.naturalWidth > 0)).map(i => i.src),
	Styles: [...document.querySelectorAll('link[rel~=stylesheet]')].filter(l => !l.sheet).map(l => l.href),
	Links: [...document.links].map(a => a.href),
	Base: document.baseURI,
}))`

// TestBrowserReadsFromDisk opens the mirrored demo site in a browser from file://, with the network cut off
// and the site gone: images and styles load, no request leaves the machine, and every link points to a file
// or to the origin.
func TestBrowserReadsFromDisk(t *testing.T) {
	t.Parallel()
	site := demosite.New()
	srv := httptest.NewServer(site)
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", srv.URL+demosite.Entry))
	s := m.Run()
	srv.Close()
	wantVerdict(t, s, mirror.Complete, true)

	dir, err := filepath.EvalSymlinks(filepath.Join(m.Dir, "sites/test/current"))
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	pages := htmlPages(t, dir)
	if len(pages) < 10 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, p := range pages {
		b.check(t, dir, p)
	}
	if len(b.failed) > 0 {
		t.Errorf("did not load: %q", b.failed)
	}
	if len(b.outside) > 0 {
		t.Errorf("asked of the network: %q", b.outside)
	}
}

// TestBrowserScripts: images and links that inline scripts make of whole strings are right in a copy that is
// read from disk.
func TestBrowserScripts(t *testing.T) {
	t.Parallel()
	const dot = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>`
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href="deep/er/page.html">x</a>`))
	w.Set(home+"/deep/er/page.html", mirrortest.HTML("Page", `<body onload="add('/img/onload.svg')"><script>
function add(src) { var i = new Image(); i.src = src; document.body.appendChild(i) }
add("/img/rooted.svg"); add("http:\/\/www.example.org\/img\/escaped.svg"); add(`+"`../../img/dotted.svg`"+`); add('own.svg')
var a = document.createElement("a"); a.href = "/other.html"; document.body.appendChild(a)
</script>`))
	w.Set(home+"/other.html", mirrortest.HTML("Other", ""))
	for _, p := range []string{
		"/img/onload.svg", "/img/rooted.svg", "/img/escaped.svg", "/img/dotted.svg", "/deep/er/own.svg",
	} {
		w.Set(home+p, mirrortest.Page{Body: dot})
	}
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	dir, err := filepath.EvalSymlinks(filepath.Join(m.Dir, "sites/test/current"))
	if err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.check(t, dir, "deep/er/page.html")
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.requests); n < 6 {
		t.Errorf("the page asked for %d files", n)
	}
	if len(b.failed)+len(b.outside) > 0 {
		t.Errorf("did not load: %q; asked of the network: %q", b.failed, b.outside)
	}
}

func htmlPages(t *testing.T, dir string) (pages []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, phm.FilesName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inDir := map[string]int{}
	for file, err := range phm.Files(f) {
		if err != nil {
			t.Fatal(err)
		}
		if inDir[filepath.Dir(file.Path)]++; inDir[filepath.Dir(file.Path)] > 4 {
			continue // the others are of the same template
		}
		if file.Type == "text/html" || file.Type == "application/xhtml+xml" || file.Type == "image/svg+xml" {
			pages = append(pages, file.Path)
		}
	}
	return pages
}

// browser is a headless one without network.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	requests map[network.RequestID]string
	failed   []string
	outside  []string
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	ctx := browsertest.New(t, chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("disable-component-update", true))
	b := &browser{ctx: ctx, requests: map[network.RequestID]string{}}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return b
}

func (b *browser) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests[ev.RequestID] = ev.Request.URL
		if strings.HasPrefix(ev.Request.URL, "http") {
			b.outside = append(b.outside, ev.Request.URL+" by "+ev.DocumentURL)
		}
	case *network.EventLoadingFailed:
		// Chromium reads neither manifests nor other files' symbols (<use>, see TestBrowserSymbols) from file://,
		// regardless of the page.
		if ev.Type == network.ResourceTypeManifest || ev.BlockedReason != "" {
			return
		}
		if u := b.requests[ev.RequestID]; strings.HasPrefix(u, "file:") && !ev.Canceled {
			b.failed = append(b.failed, u+": "+ev.ErrorText)
		}
	}
}

func (b *browser) check(t *testing.T, dir, page string) {
	t.Helper()
	at := (&url.URL{Scheme: "file", Path: filepath.Join(dir, page)}).String()
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(at)); err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	state, err := chromedp.Run(ctx, chromedp.Evaluate[pageState](inspect, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	if len(state.Broken) > 0 {
		t.Errorf("%s: images do not show: %q", page, state.Broken)
	}
	if len(state.Styles) > 0 {
		t.Errorf("%s: styles do not apply: %q", page, state.Styles)
	}
	for _, l := range state.Links {
		u, err := url.Parse(l)
		if err != nil || u.Scheme != "file" {
			continue
		}
		rel, err := filepath.Rel(dir, u.Path)
		if err != nil || !fs.ValidPath(rel) {
			t.Errorf("%s: the link to %s leaves the mirror", page, l)
			continue
		}
		if fi, err := os.Stat(u.Path); err != nil || !fi.Mode().IsRegular() {
			t.Errorf("%s: the link to %s has no file", page, l)
		}
	}
}
