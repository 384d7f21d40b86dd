// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"mirrord/internal/demosite"
	"mirrord/testing/apptest"
	"mirrord/testing/browsertest"
)

// replaySite is a page with a picture and a style, all of which change with each version.
func replaySite(version func() int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := version()
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, "<title>%d</title><link rel=stylesheet href=a.css><p id=v>%d<img id=i src=i.svg>", v, v)
		case "/a.css":
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprintf(w, "p { margin-left: %dpx }", v*10)
		case "/i.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="9"/>`, v*20)
		default:
			http.NotFound(w, r)
		}
	}
}

// replayed is a site that is replayed in all its versions.
type replayed struct {
	handler  func(version func() int64) http.Handler
	versions int64
	pages    []string // paths
	shows    string   // which text shows the version, as a format for its number
	images   int      // that the pages have together, at the least
}

func replayedSites(t *testing.T) map[string]replayed {
	return map[string]replayed{
		"small": {
			handler:  func(version func() int64) http.Handler { return replaySite(version) },
			versions: 3,
			pages:    []string{"/"},
			shows:    "%d",
			images:   1,
		},
		"demonstration": {
			handler: func(version func() int64) http.Handler {
				site := demosite.New()
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					site.SetVersion(int(version()))
					site.ServeHTTP(w, r)
				})
			},
			versions: int64(demosite.Versions()),
			pages:    []string{"/", "/gallery/"},
			images:   3,
		},
		"debian-policy": {
			handler:  editions(corpusDir(t, "debian-policy", "usr/share/doc/debian-policy/policy.html")),
			versions: 2,
			pages:    []string{"/ap-flowcharts.html", "/ch-scope.html"},
			shows:    "Edition %d",
			images:   5,
		},
		"libgtk-3-doc": {
			handler:  editions(corpusDir(t, "libgtk-3-doc", "usr/share/gtk-doc/html/gtk3")),
			versions: 2,
			pages:    []string{"/ch03.html", "/GtkButton.html"},
			shows:    "Edition %d",
			images:   64,
		},
	}
}

// corpusDir is a folder of what .ci/corpus has fetched.
func corpusDir(t *testing.T, pkg, dir string) string {
	t.Helper()
	cache := os.Getenv("MIRRORD_CORPUS")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "mirrord-corpus")
	}
	dir = filepath.Join(cache, pkg, dir)
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("%v: run .ci/corpus %s", err, pkg)
	}
	return dir
}

// editions serves a site of others. Each version says in pages which edition it is, and its styles indent all
// by that many pixels.
func editions(dir string) func(version func() int64) http.Handler {
	return func(version func() int64) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := path.Clean(r.URL.Path)
			if strings.HasSuffix(r.URL.Path, "/") {
				name = path.Join(name, "index.html")
			}
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			switch path.Ext(name) {
			case ".html":
				edition := fmt.Appendf(nil, "<p>Edition %d</p></body>", version())
				b = bytes.Replace(b, []byte("</body>"), edition, 1)
			case ".css":
				b = fmt.Appendf(b, "\nbody { margin-left: %dpx }\n", version())
			}
			w.Write(b)
		})
	}
}

// seenReplay is what a page shows.
type seenReplay struct {
	Text   string
	Images []string // their sizes
	Looks  string   // of all elements
}

// differs names the first thing that is not as wanted, "" for none.
func (s seenReplay) differs(want seenReplay) string {
	lines := func(s seenReplay) []string {
		all := strings.Split(s.Text+"\n"+s.Looks, "\n")
		return append(all, s.Images...)
	}
	a, b := lines(s), lines(want)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%q, want %q", a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines of text, elements and pictures, want %d", len(a), len(b))
	}
	return ""
}

// showReplay opens a page in a frame. On a busy machine the page around it may still be without a body.
const showReplay = `new Promise(async done => {
	while (document.body === null) await new Promise(again => setTimeout(again, 20))
	const f = document.createElement('iframe')
	f.width = 1000
	f.height = 800
	f.src = %q
	f.onload = async () => {
		const d = f.contentDocument, images = [...d.images]
		for (const i of images) {
			i.loading = 'eager'
			await i.decode().catch(() => {})
		}
		await d.fonts.ready
		done({
			Text: d.body.innerText,
			Images: images.map(i => i.naturalWidth + 'x' + i.naturalHeight),
			Looks: [...d.body.querySelectorAll('*')].slice(0, 1000).map(e => {
				const s = f.contentWindow.getComputedStyle(e)
				return [e.localName, s.color, s.backgroundColor, s.fontSize, s.fontWeight, s.display, s.marginLeft,
					s.backgroundImage == 'none'].join(' ')
			}).join('\n') + f.contentWindow.getComputedStyle(d.body).marginLeft,
		})
	}
	document.body.append(f)
})`

// openReplay waits until the archive is open. On a machine that does much else the service worker of the
// page sometimes starts, takes the page, and loads nothing; the page loaded again has it begin again.
func openReplay(t *testing.T, ctx context.Context, replay string) {
	t.Helper()
	var got seenReplay
	for range 5 {
		if got = evaluate(t, ctx, replay+"/", loadedReplay); !strings.HasPrefix(got.Text, "not loaded") {
			return
		}
	}
	t.Fatal(got.Text)
}

// loadedReplay waits for half a minute for the archive.
const loadedReplay = `new Promise(async done => {
	for (let n = 0; n < 150; n++) {
		const f = document.createElement('iframe') // within the scope of the service worker
		f.src = '/replay/blank.html'
		document.body.append(f)
		await new Promise(ready => f.onload = ready)
		const r = await f.contentWindow.fetch('/replay/w/api/c/demo')
		if (r.ok) return done({Text: await r.text()})
		f.remove()
		await new Promise(again => setTimeout(again, 200))
	}
	done({Text: 'not loaded: ' + document.documentElement.outerHTML})
})`

// TestReplay replays all versions of a WACZ in ReplayWeb.page, also of the demonstration and of sites of
// others: each page shows in each version the text, styles and pictures that the site showed in the same
// browser.
func TestReplay(t *testing.T) {
	dir := os.Getenv("MIRRORD_REPLAYWEB")
	if dir == "" {
		t.Skip("MIRRORD_REPLAYWEB is not set: run MIRRORD_LONG=1 .ci/run oracles")
	}
	for name, c := range replayedSites(t) {
		t.Run(name, func(t *testing.T) { c.replay(t, dir) })
	}
}

// blank is a page in whose frames the others are looked at.
func blank(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, "<!doctype html><p>blank</p>")
}

func (c replayed) replay(t *testing.T, dir string) {
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	live := http.NewServeMux()
	live.Handle("/", c.handler(s.Version.Load))
	live.HandleFunc("/blank-for-the-test", blank)
	srv := httptest.NewServer(live)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, c.versions)
	file := filepath.Join(t.TempDir(), "site.wacz")
	o := ExportRequest{Job: "site", Out: file, AllVersions: true}
	if _, err := Export(t.Context(), s.App, o); err != nil {
		t.Fatal(err)
	}
	ctx := browsertest.New(t)
	// what a version shows is not to come from the one before it
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	fresh := network.SetCacheDisabledParams{CacheDisabled: true}
	if _, err := chromedp.Call(ctx, network.SetCacheDisabled, fresh); err != nil {
		t.Fatal(err)
	}
	want := map[string]seenReplay{}
	for v := range c.versions {
		s.Version.Store(v + 1)
		images := 0
		for _, page := range c.pages {
			shown := browse(t, ctx, srv.URL+"/blank-for-the-test", page)
			if c.shows != "" && !strings.Contains(shown.Text, fmt.Sprintf(c.shows, v+1)) {
				t.Fatalf("version %d of the site shows %s", v+1, shown.Text)
			}
			want[fmt.Sprint(v, page)] = shown
			for _, size := range shown.Images {
				if !strings.HasPrefix(size, "0x") {
					images++
				}
			}
		}
		if images < c.images {
			t.Fatalf("version %d of the site shows %d pictures", v+1, images)
		}
	}
	srv.Close() // the site is gone
	replay := replayServer(t, dir, file, s.URL+c.pages[0])
	openReplay(t, ctx, replay)
	for v := range c.versions {
		stamp := time.Unix(apptest.ChangingStart+v*86400, 0).UTC().Format("20060102150405")
		for _, page := range c.pages {
			got := browse(t, ctx, replay+"/replay/blank.html", "/replay/w/demo/"+stamp+"mp_/"+s.URL+page)
			if diff := got.differs(want[fmt.Sprint(v, page)]); diff != "" {
				t.Errorf("version %d of %s shows %s", v+1, page, diff)
			}
		}
	}
}

// browse looks at a page in a frame of another one of its server.
func browse(t *testing.T, ctx context.Context, around, page string) seenReplay {
	t.Helper()
	return evaluate(t, ctx, around, fmt.Sprintf(showReplay, page))
}

// evaluate runs a script in a page.
func evaluate(t *testing.T, ctx context.Context, page, script string) seenReplay {
	t.Helper()
	if err := browsertest.Load(ctx, page); err != nil {
		t.Fatal(err)
	}
	got, err := chromedp.Run(ctx, chromedp.Evaluate[seenReplay](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// replayServer serves ReplayWeb.page with an archive.
func replayServer(t *testing.T, dir, file, first string) (address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<script src="/replay/ui.js"></script><replay-web-page source="/site.wacz" `+
			`coll="demo" replayBase="/replay/" deepLink url="`+first+`"></replay-web-page>`)
	})
	mux.HandleFunc("/site.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	mux.HandleFunc("/replay/blank.html", blank)
	for _, name := range []string{"ui.js", "sw.js"} {
		mux.HandleFunc("/replay/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, filepath.Join(dir, name))
		})
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}
