// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mirrord/app/daemon"
	"mirrord/scheduler/status"
	"mirrord/serve"
	"mirrord/testing/browsertest"
)

// chromium is a real browser that uses a console.
type chromium struct {
	*browser
	ctx  context.Context
	base string

	mu   sync.Mutex
	seen []string // host and path of each request
}

// page answers a request.
func (c *chromium) page(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.seen = append(c.seen, r.Host+r.URL.Path)
	srv := c.srv
	c.mu.Unlock()
	srv.ServeHTTP(w, r)
}

// restart replaces this console by another one, as a start of the daemon does.
func (c *chromium) restart(o func(*Options)) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.srv.Close()
	c.start(o)
}

// with changes the options of the console.
func (c *chromium) with(f func(*fakeDaemon)) {
	c.daemon.mu.Lock()
	defer c.daemon.mu.Unlock()
	f(c.daemon)
}

func newChromium(t *testing.T, o func(*Options)) *chromium {
	t.Helper()
	c := &chromium{browser: newBrowser(t, o)}
	srv := httptest.NewServer(http.HandlerFunc(c.page))
	t.Cleanup(srv.Close)
	c.base = srv.URL
	c.ctx = browsertest.New(t)
	link, _ := c.srv.LoginLink(c.base, "ann", Operate)
	c.goTo(strings.TrimPrefix(link, c.base))
	return c
}

func (c *chromium) goTo(path string) {
	c.Helper()
	c.open(c.base + path)
}

// open shows an address.
func (c *chromium) open(url string) {
	c.Helper()
	if err := browsertest.Load(c.ctx, url); err != nil {
		c.Fatalf("%s: %v", url, err)
	}
}

// ask evaluates an expression in the page.
func (c *chromium) ask(expression string) string {
	c.Helper()
	got, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		c.Fatalf("%s: %v", expression, err)
	}
	return got
}

// wait waits until the text of the page has a string.
func (c *chromium) wait(want string) {
	c.Helper()
	c.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, want))
}

// until waits until an expression is true in the page, however long that takes on a busy machine.
func (c *chromium) until(expression string) {
	c.Helper()
	late := time.Now().Add(10 * time.Minute)
	for time.Now().Before(late) {
		got, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && got {
			return
		}
		time.Sleep(50 * time.Millisecond) // a page may be on its way
	}
	c.Fatalf("it is never so that %s:\n%s", expression, c.ask(`document.body ? document.body.innerText : ""`))
}

func (c *chromium) emulate(do func(ctx context.Context, t *chromedp.Target) error) {
	c.Helper()
	step := func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		return v, do(ctx, t)
	}
	if err := chromedp.Do(c.ctx, step); err != nil {
		c.Fatal(err)
	}
}

// scripts allows or forbids scripts.
func (c *chromium) scripts(on bool) {
	c.Helper()
	c.emulate(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// running is a daemon with a run under way.
func running(d *fakeDaemon) {
	d.jobs = testJobs(2)
	d.jobs[0].Activity, d.jobs[0].Progress = status.Running, &status.Progress{Phase: status.Retrieving, Done: 17}
	d.titles = map[string]daemon.MirrorTitle{"job0000": {Title: "A Title"}}
}

// TestBrowser holds a real browser to what docs/console.md promises: flows work with and without scripts,
// nothing leaves the origin, and a mirrored page reaches nothing.
func TestBrowser(t *testing.T) {
	c := newChromium(t, nil)
	c.with(running)
	c.goTo("/jobs/job0000")
	c.wait("17 done")
	c.with(func(d *fakeDaemon) { d.jobs[0].Progress = &status.Progress{Phase: status.Relocating, Done: 18} })
	c.wait("18 done") // without a reload
	c.restart(nil)
	c.with(func(d *fakeDaemon) { d.jobs[0].Progress = &status.Progress{Phase: status.Relocating, Done: 19} })
	c.wait("19 done") // of the new daemon, in the same page
	c.with(func(d *fakeDaemon) { d.jobs[0].Activity, d.jobs[0].Progress = status.Idle, nil })
	c.wait("Run now") // the whole page is another one after the run
	for i, on := range []bool{true, false} {
		c.scripts(on)
		c.goTo("/jobs/job0001")
		c.press("Run now")
		c.wait("The run was requested.")
		c.press("Pause")
		c.wait("Paused: no run")
		c.with(func(d *fakeDaemon) {
			if len(d.did) != 2*(i+1) {
				t.Errorf("with scripts %v: %v", on, d.did)
			}
			d.jobs[1].Activity = status.Idle
		})
	}
	c.scripts(true)
	c.attacked()
	c.everyPage()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.seen {
		if !strings.HasPrefix("http://"+at, c.base+"/") {
			t.Errorf("a request for %s", at)
		}
	}
}

// everyPage opens each page: none is wider than a small screen, runs into its own policy, or loads something
// from elsewhere but the frames of mirrored pages; the keyboard reaches all that can be used, and shows where
// it is.
func (c *chromium) everyPage() {
	c.Helper()
	o, fill := newWhole(c.TB)
	c.restart(o)
	fill(c.browser)
	link, _ := c.srv.LoginLink(c.base, "ann", Operate)
	c.goTo(strings.TrimPrefix(link, c.base))
	c.look("light", 360)
	for _, path := range allPages() {
		c.goTo(path)
		const there = `document.readyState == "complete" && document.documentElement != null`
		c.until(there)
		if err := chromedp.Do(c.ctx, chromedp.KeyEvent("\t")); err != nil { // from now on the focus is shown
			c.Fatal(err)
		}
		c.until(there)
		got := c.ask(`(async () => {
			const bad = []
			document.addEventListener("securitypolicyviolation", e => bad.push("refused " + e.blockedURI))
			if (document.documentElement.scrollWidth > innerWidth) bad.push("wider than the screen")
			const frame = /^https:\/\/mirrors\.example\/site\//
			const mine = x => x == "" || frame.test(x) || new URL(x, location).origin == location.origin
			for (const e of performance.getEntriesByType("resource")) if (!mine(e.name)) bad.push("loaded " + e.name)
			const can = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]"
			for (const e of document.querySelectorAll(can)) {
				if (e.tabIndex < 0 || e.disabled || !e.checkVisibility()) continue
				if (e.tabIndex > 0) bad.push("tabindex " + e.outerHTML.slice(0, 80))
				e.focus()
				if (document.activeElement != e) { bad.push("no focus: " + e.outerHTML.slice(0, 80)); continue }
				const s = getComputedStyle(e)
				if (s.outlineStyle == "none") bad.push("focus is not seen: " + e.outerHTML.slice(0, 80))
			}
			await new Promise(done => setTimeout(done))
			return bad.join("; ")
		})()`)
		if got != "" {
			c.Errorf("%s: %s", path, got)
		}
	}
}

// press presses a button by the keyboard.
func (c *chromium) press(button string) {
	c.Helper()
	c.until(fmt.Sprintf(`[...document.querySelectorAll("button")].some(b => b.textContent == %q)`, button))
	find := fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("button")].find(
		b => b.textContent == %q); b.focus(); return document.activeElement == b ? "yes" : "no" })()`, button)
	if got := c.ask(find); got != "yes" {
		c.Fatalf("%s cannot have the focus", button)
	}
	if err := chromedp.Do(c.ctx, chromedp.KeyEvent("\r")); err != nil {
		c.Fatal(err)
	}
}

// attacked opens a page of another port of this host, as mirrord serve shows mirrored pages, which tries to
// read the console and to send its forms.
func (c *chromium) attacked() {
	c.Helper()
	c.with(func(d *fakeDaemon) { d.did = nil })
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<title>evil</title><body>evil")
	}))
	defer evil.Close()
	c.open(evil.URL)
	to, err := json.Marshal(c.base)
	if err != nil {
		c.Fatal(err)
	}
	got := c.ask(`(async base => {
		const got = []
		const tried = async (what, f) => { try { const x = await f(); if (x) got.push(what + ": " + x) } catch (e) {} }
		await tried("read", async () => (await fetch(base + "/", {credentials: "include"})).text())
		await tried("post", async () => (await fetch(base + "/jobs/job0001/run",
			{method: "POST", mode: "no-cors", credentials: "include"})).status)
		await tried("frame", () => new Promise(done => {
			const f = document.createElement("iframe")
			f.onload = () => { try { done(f.contentDocument.body.innerText) } catch (e) { done("") } }
			f.src = base + "/"
			document.body.append(f)
		}))
		await tried("form", () => new Promise(done => {
			const f = document.createElement("form"), t = document.createElement("iframe")
			t.name = "t"
			t.onload = () => done("")
			f.method = "post"
			f.target = "t"
			f.action = base + "/jobs/job0001/run"
			document.body.append(t, f)
			f.submit()
		}))
		return got.join("; ")
	})(` + string(to) + ")")
	if got != "" {
		c.Errorf("a mirrored page got %s", got)
	}
	// what was still on its way has come before the answer to this
	if resp, err := http.Get(c.base + "/static/console.css"); err != nil {
		c.Error(err)
	} else {
		resp.Body.Close()
	}
	c.with(func(d *fakeDaemon) {
		if len(d.did) > 0 {
			c.Errorf("a mirrored page did %v", d.did)
		}
	})
}

// TestOracleAxe lets axe-core look at every page of the console, of mirrord serve and of the daemon's status
// page, in light and dark, at two widths. With MIRRORD_SHOTS it leaves pictures of them there.
func TestOracleAxe(t *testing.T) {
	dir := os.Getenv("MIRRORD_ORACLES")
	if dir == "" {
		t.Skip("MIRRORD_ORACLES is not set: run .ci/run oracles")
	}
	axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	whole, fill := newWhole(t)
	var mirrors string
	c := newChromium(t, func(o *Options) {
		whole(o)
		mirrors, _ = mirrorsOf(t, o.App)
		o.Mirrors = mirrors
	})
	fill(c.browser)
	overview, err := serve.NewStatus(c.daemon.Status)
	if err != nil {
		t.Fatal(err)
	}
	asNobody := strings.Replace(c.base, "127.0.0.1", "localhost", 1) // no cookie is sent there
	onStatus := httptest.NewServer(overview)
	defer onStatus.Close()
	const finds = "/.well-known/mirrord/find"
	shown := map[string]string{
		"serve-list":      mirrors + "/",
		"serve-find":      mirrors + finds + "?q=winbind",
		"serve-find-none": mirrors + finds,
		"serve-find-bad":  mirrors + finds + "?q=a*",
		"serve-missing":   mirrors + "/site/nosuch.html",
		"serve-no-mirror": mirrors + "/nosuch/",
		"status":          onStatus.URL + "/",
	}
	each := func(do func(look func(name, path string))) {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 1280} {
				c.look(scheme, width)
				do(func(name, path string) {
					c.goTo(path)
					c.ask(string(axe) + `; "loaded"`)
					for _, v := range c.findings() {
						t.Errorf("%s %s, %s, %d px: %s", name, path, scheme, width, v)
					}
					c.shot(fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
				})
			}
		}
	}
	t.Run("serve", func(t *testing.T) {
		each(func(look func(name, path string)) {
			for name, address := range shown {
				c.elsewhere(address, func() { look(name, "") })
			}
		})
	})
	t.Run("console", func(t *testing.T) {
		each(func(look func(name, path string)) {
			for i, path := range allPages() {
				look(fmt.Sprintf("%02d", i), path)
			}
			c.elsewhere(asNobody, func() { look("login", "/login") })
		})
	})
}

// elsewhere does something with pages of another server.
func (c *chromium) elsewhere(base string, do func()) {
	own := c.base
	c.base = base
	do()
	c.base = own
}

// look sets the colours and the width of the screen.
func (c *chromium) look(scheme string, width int64) {
	c.Helper()
	c.emulate(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
	if err := chromedp.Do(c.ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		c.Fatal(err)
	}
}

// findings are those of axe-core, and elements wider than the screen.
func (c *chromium) findings() (out []string) {
	c.Helper()
	got := c.ask(`axe.run(document).then(r => JSON.stringify(r.violations.map(
		v => v.id + ": " + v.nodes.map(n => n.html).slice(0, 3).join(" "))))`)
	if err := json.Unmarshal([]byte(got), &out); err != nil {
		c.Fatal(err)
	}
	wide := c.ask(`String(document.documentElement.scrollWidth - innerWidth)`)
	if !strings.HasPrefix(wide, "-") && wide != "0" {
		out = append(out, "the page is "+wide+" px wider than the screen")
	}
	return out
}

// shot keeps a picture of the page, shotOfScreen of its visible part.
func (c *chromium) shot(name string) { c.keep(name, chromedp.FullScreenshot(100)) }

func (c *chromium) shotOfScreen(name string) { c.keep(name, chromedp.CaptureScreenshot()) }

func (c *chromium) keep(name string, take chromedp.Action[[]byte]) {
	c.Helper()
	dir := os.Getenv("MIRRORD_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(c.ctx, take)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), png, 0o644)
	}
	if err != nil {
		c.Fatal(err)
	}
}
