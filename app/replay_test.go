// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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

// seenReplay is what a replayed page shows.
type seenReplay struct {
	Text   string
	Margin string
	Width  int
}

const showReplay = `new Promise(done => {
	const f = document.createElement('iframe')
	f.src = %q
	f.onload = async () => {
		const d = f.contentDocument, i = d.getElementById('i')
		if (!i) return done({Text: d.documentElement.outerHTML.slice(0, 1500)})
		await i.decode()
		const p = d.getElementById('v')
		done({Text: p.textContent, Margin: f.contentWindow.getComputedStyle(p).marginLeft, Width: i.naturalWidth})
	}
	document.body.append(f)
})`

// loadedReplay waits until the archive is open.
const loadedReplay = `new Promise(async done => {
	for (let n = 0; n < 600; n++) {
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

// TestReplay replays all versions of a WACZ in ReplayWeb.page: each shows its own text, style and picture.
func TestReplay(t *testing.T) {
	dir := os.Getenv("MIRRORD_REPLAYWEB")
	if dir == "" {
		t.Skip("MIRRORD_REPLAYWEB is not set: run MIRRORD_LONG=1 .ci/run oracles")
	}
	s := &changing{App: testApp(t.TempDir())}
	srv := httptest.NewServer(replaySite(s.version.Load))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	s.mirror(t, 3)
	file := filepath.Join(t.TempDir(), "site.wacz")
	o := ExportRequest{Job: "site", Out: file, AllVersions: true}
	if _, err := Export(t.Context(), s.App, o); err != nil {
		t.Fatal(err)
	}
	srv.Close() // the site is gone
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<script src="/replay/ui.js"></script><replay-web-page source="/site.wacz" `+
			`coll="demo" replayBase="/replay/" deepLink url="`+s.url+`/"></replay-web-page>`)
	})
	mux.HandleFunc("/site.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	mux.HandleFunc("/replay/blank.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>blank</p>")
	})
	for _, name := range []string{"ui.js", "sw.js"} {
		mux.HandleFunc("/replay/"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, filepath.Join(dir, name))
		})
	}
	replay := httptest.NewServer(mux)
	t.Cleanup(replay.Close)
	ctx := replayBrowser(t)
	browse := func(address, script string) (got seenReplay) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate(replay.URL+address)); err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[seenReplay](script, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	browse("/", loadedReplay)
	for v := range 3 {
		stamp := time.Unix(changingStart+int64(v)*86400, 0).UTC().Format("20060102150405")
		got := browse("/replay/blank.html", fmt.Sprintf(showReplay, "/replay/w/demo/"+stamp+"mp_/"+s.url+"/"))
		want := seenReplay{fmt.Sprint(v + 1), fmt.Sprintf("%dpx", 10*(v+1)), 20 * (v + 1)}
		if got != want {
			t.Errorf("version %d shows %+v, want %+v", v+1, got, want)
		}
	}
}

// replayBrowser is a browser without a window.
func replayBrowser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test drives a browser: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(10*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}
