// SPDX-License-Identifier: Apache-2.0

//go:build browser

package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mirrord/serve/find"
	"mirrord/testing/browsertest"
)

// hostile is a page that wants to be without a bar, or to change it. Each of its links is 100 pixels wide.
const hostile = `<!DOCTYPE html><html lang="en"><head><title>Hostile page</title><style>
a { position: absolute; top: 40px; height: 60px; width: 90px; background: #dde } #below { margin-top: 3000px }
</style></head><body>
<a style="left: 0" href="docs/index.html">next</a> <a style="left: 100px" href="http://localhost:PORT/robots.txt">away</a>
<a style="left: 200px" href="#below">part</a> <a style="left: 300px" href="javascript:void fetch('/ran-link')">script</a>
<form style="position: absolute; left: 400px; top: 40px" action="find"><input type="hidden" name="q" value="2"><button style="height: 60px; width: 90px">form</button></form>
<p id="below">below</p>
<script>
if (top !== self) for (const f of [() => { top.document.title = "stolen" }, () => parent.document.querySelector("header").remove(),
	() => { parent.location = "http://localhost:PORT/robots.txt" }, () => { top.location.href = location.href }]) {
	try { f() } catch (e) { fetch("/ran-refused") }
}
fetch("/ran")
</script></body></html>`

// barReader reads mirrors in a real browser.
type barReader struct {
	*testing.T
	ctx  context.Context
	port string

	mu    sync.Mutex // guards asked
	asked []string   // host, path and Sec-Fetch-Dest of requests
}

func newBarReader(t *testing.T) *barReader {
	b := &barReader{T: t, ctx: browsertest.New(t)}
	sites := testSites()
	s, err := New(Options{Sites: sites, Texts: testTexts()})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		host, _, _ := strings.Cut(r.Host, ":")
		b.asked = append(b.asked, host+r.URL.Path+" "+r.Header.Get("Sec-Fetch-Dest"))
		b.mu.Unlock()
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	_, b.port, _ = strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	last := sites["one"].versions[2]
	last.files = append(last.files, fakeFile{
		url:  "https://one.test/hostile.html",
		path: "hostile.html",
		mime: "text/html",
		body: strings.ReplaceAll(hostile, "PORT", b.port),
	})
	return b
}

func (b *barReader) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

func (b *barReader) ask(script string) string {
	b.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// until waits until something is so, and tries something each time before it looks.
func (b *barReader) until(what string, try func(), so func() bool) {
	b.Helper()
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); time.Sleep(200 * time.Millisecond) {
		if try(); so() {
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Fatalf("%s: never; asked:\n%s", what, strings.Join(b.asked, "\n"))
}

// at waits until the window shows an address.
func (b *barReader) at(want string) { b.Helper(); b.until(want, func() {}, b.is(want)) }

// is reports whether the window shows an address.
func (b *barReader) is(want string) func() bool {
	want = "http://" + strings.Replace(want, "/", ":"+b.port+"/", 1) + " complete"
	return func() bool {
		got, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + " " + document.readyState`))
		return got == want
	}
}

// sees waits for so many requests.
func (b *barReader) sees(want string, n int) {
	b.Helper()
	b.until(want, func() {}, func() bool { return b.count(want) >= n })
}

// link clicks at the n-th link of the hostile page until it has done something: a frame takes no click before
// it is drawn.
func (b *barReader) link(n float64, so func() bool) {
	b.Helper()
	b.until("link", func() { b.do(chromedp.MouseClickXY(n*100+40, 110)) }, so)
}

func (b *barReader) count(want string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, is := range b.asked {
		if is == want {
			n++
		}
	}
	return n
}

func (b *barReader) scripts(on bool) {
	b.Helper()
	b.do(func(ctx context.Context, tab *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return v, err
	})
}

// TestBarBrowser reads a mirror below its bar: a hostile page cannot change the bar or leave it, links lead
// the whole window, and the bar can be hidden.
func TestBarBrowser(t *testing.T) {
	b := newBarReader(t)
	address := "http://one.localhost:" + b.port + "/hostile.html"
	back := func() { b.do(chromedp.Evaluate[chromedp.Void](`history.back()`)); b.at("localhost/~one/hostile.html") }
	b.do(chromedp.EmulateViewport(1000, 700))
	b.do(chromedp.Navigate(address + "#below"))
	b.at("localhost/~one/hostile.html#below")
	b.sees("one.localhost/ran empty", 1)
	b.sees("one.localhost/ran-refused empty", 4)
	got := b.ask(`document.title + ", " + document.querySelector("header").innerText`)
	if !strings.HasPrefix(got, "Hostile page · 1 Sep 2026, ") || !strings.Contains(got, "version 3 of 3") {
		t.Errorf("the bar says %q", got)
	}
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.at("localhost/~one/hostile.html")
	ran := func() bool { return b.count("one.localhost/ran-link empty") > 0 }
	b.link(3, ran)
	b.link(2, func() bool { return true })
	if n := b.count("one.localhost/hostile.html document"); n != 2 {
		t.Errorf("the page was opened %d times", n)
	}
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.link(0, b.is("localhost/~one/docs/index.html"))
	back()
	b.link(4, b.is("localhost/~one/find?q=2"))
	back()
	b.link(1, b.is("localhost/robots.txt"))

	b.do(chromedp.Navigate("http://localhost:" + b.port + "/~one/hostile.html"))
	b.do(chromedp.Click(chromedp.CSS(`a[referrerpolicy]`)))
	b.at("one.localhost/hostile.html")
	b.until("next", func() { b.do(chromedp.MouseClickXY(40, 70)) }, b.is("localhost/~one/docs/index.html"))
	b.do(chromedp.Click(chromedp.CSS(`header nav a`)))
	b.at("localhost/~one/.well-known/mirrord/memento/20260601040000/https://one.test/docs/")

	b.scripts(false)
	b.do(chromedp.Navigate(address))
	b.at("localhost/~one/hostile.html")
	b.link(0, b.is("localhost/~one/docs/index.html"))
	b.do(chromedp.Click(chromedp.CSS(`header summary`)))
	b.until("an old version", func() { // a click before the calendar is drawn hits nothing
		if b.is("localhost/~one/docs/index.html")() {
			b.do(chromedp.Click(chromedp.CSS(`header dl div:last-child a`)))
		}
	}, b.is("localhost/~one/.well-known/mirrord/memento/20260301040000/https://one.test/docs/"))
}

// testTexts is an index without a page.
func testTexts() *TextLookup {
	return &TextLookup{
		Find: func(context.Context, find.TextSearch) (*find.SearchResults, error) {
			return new(find.SearchResults), nil
		},
		Made: func() bool { return true },
	}
}
