// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mirrord/app/daemon"
	"mirrord/app/look"
	"mirrord/scheduler/status"
)

// longSite has a page that is longer than a screen, and a picture, which change from run to run. Its page
// tries to act.
func longSite(state *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(state.Load())
		if r.URL.Path == "/dome.png" {
			m := image.NewRGBA(image.Rect(0, 0, 320, 200))
			for x := range 320 {
				for y := range 200 {
					m.Set(x, y, color.RGBA{uint8(90 * n), uint8(y), uint8(x / 2), 255})
				}
			}
			w.Header().Set("Content-Type", "image/png")
			png.Encode(w, m)
			return
		}
		if r.URL.Path == "/style.css" {
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, "body { font: 18px/1.5 Georgia, serif; margin: 2em } h1 { color: #234 }")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>Opening hours</title><link rel=stylesheet href=/style.css>
			<script>parent.postMessage({says: "evil"}, "*")</script><h1>Opening hours</h1>
			<img src=/dome.png alt=dome onload='parent.postMessage({says: "evil"}, "*")'>
			<p>The observatory is open to visitors from %s to Sunday, from %d:00 to 23:00.</p>`,
			[]string{"", "Thursday", "Wednesday"}[min(n, 2)], 18+n)
		for i := range 60 {
			fmt.Fprintf(w, "<p>Room %d is open in bad weather, and the lecture takes place in the library.</p>", i)
		}
	})
}

// Words are marked in both frames, which scroll together; a passage that is chosen in one is asked about;
// pictures have a slider; and nothing of the mirror runs.
func TestBesideInBrowser(t *testing.T) {
	a := mirrorOf(t, longSite, status.VerdictComplete, status.VerdictComplete)
	made, err := look.PageOf(t.Context(), a, look.KeptPageRequest{Job: "site"})
	if err != nil {
		t.Fatal(err)
	}
	mirrors, _ := mirrorsOf(t, a)
	c := newChromium(t, func(o *Options) { o.App, o.Mirrors = a, mirrors })
	c.with(func(d *fakeDaemon) {
		d.jobs = []status.Job{{Name: "site", Version: 2}}
		d.titles = map[string]daemon.MirrorTitle{"site": {Primary: strings.TrimSuffix(made.File.URL, "/")}}
	})
	const at = "/jobs/site/beside?from=1&to=2&path="
	for _, shot := range []struct {
		name, scheme string
		width        int64
	}{
		{"beside-light.png", "light", 1280}, {"beside-dark.png", "dark", 1280}, {"beside-phone.png", "light", 390},
	} {
		c.look(shot.scheme, shot.width)
		c.goTo(at + "index.html")
		c.wait("2 words removed, 2 words added")
		c.until(`document.readyState == "complete"`)
		c.shot(shot.name)
		if got := c.ask(`String(document.documentElement.scrollWidth > innerWidth)`); got != "false" {
			t.Errorf("%s: wider than the screen", shot.name)
		}
	}
	c.look("light", 1280)
	c.goTo(at + "index.html")
	c.until(`document.readyState == "complete" && document.querySelectorAll("iframe").length == 2`)
	got := c.ask(`new Promise(done => {
		const [a, b] = document.querySelectorAll("iframe"), heard = []
		addEventListener("message", e => {
			if (typeof e.data.at == "number") heard.push(e.source == b.contentWindow ? "b" : "a", e.data.at.toFixed(2))
			if (e.data.says) heard.push(e.data.says)
		})
		a.contentWindow.postMessage({at: 0.5}, "*")
		b.contentWindow.postMessage({at: 0.5}, "*")
		setTimeout(() => done(heard.join(" ")), 600)
	})`)
	if got != "" { // what the page around a frame does is no news for it
		t.Errorf("the frames said %q", got)
	}
	if got := c.ask(`document.getElementById("says").value`); got != "" {
		t.Errorf("the mirrored page ran: %q", got)
	}
	// a key in one frame moves the other one
	c.ask(`new Promise(done => {
		window.heard = 0
		const a = document.querySelector("iframe")
		addEventListener("message", e => { if (e.source == a.contentWindow && e.data.at > 0) window.heard = e.data.at })
		done("")
	})`)
	for range 100 { // the browser may take a key before the frame has what the click gave it
		if err := errors.Join(chromedp.Do(c.ctx, chromedp.MouseClickXY(300, 500)),
			chromedp.Do(c.ctx, chromedp.KeyEvent(kb.End))); err != nil {
			t.Fatal(err)
		}
		if c.ask(`new Promise(done => setTimeout(() => done(String(window.heard > 0.9)), 200))`) == "true" {
			break
		}
	}
	c.until(`window.heard > 0.9`)
	c.shot("compare-scrolled.png")

	c.goTo(at + "dome.png")
	c.until(`document.readyState == "complete" && document.querySelector(".stack img") != null`)
	clip := c.ask(`document.querySelectorAll(".stack img")[1].style.clipPath`)
	c.ask(`document.getElementById("slide").focus(); ""`)
	if err := chromedp.Do(c.ctx, chromedp.KeyEvent(kb.ArrowRight)); err != nil {
		t.Fatal(err)
	}
	c.until(fmt.Sprintf(`document.querySelectorAll(".stack img")[1].style.clipPath != %q`, clip))
	c.shot("beside-pictures.png")
	c.scripts(false)
	c.goTo(at + "dome.png")
	c.wait("Version 2")
	c.shot("beside-pictures-plain.png")
	c.goTo("/jobs/site/view?version=2&path=index.html")
	c.wait("Since when does it say")
}
