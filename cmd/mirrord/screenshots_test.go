// SPDX-License-Identifier: Apache-2.0

//go:build browser

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mirrord/cmd/mirrord/daemon"
	"mirrord/testing/browsertest"
)

// TestBrowser takes the pictures of the guide of the console at the end of a demonstration, in a real
// browser: on a desktop, in the dark, and on a phone. They stay in the directory that MIRRORD_SHOTS names.
func TestBrowser(t *testing.T) {
	dir := os.Getenv("MIRRORD_SHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	s := showDemo(t)
	defer s.end()
	ctx := browsertest.New(t)
	base, _, _ := strings.Cut(s.console, "/login")
	job := base + "/jobs/" + daemon.DemoName
	if _, err := visitPage(ctx, s.console); err != nil { // it logs in
		t.Fatal(err)
	}
	for _, page := range []struct{ name, url, want string }{
		{"job", job, "would be skipped"},
		{"changes", job + "/changes", "Change history"},
		{"compare", job + "/beside?from=5&to=6&path=about/visit.html", "2 words removed"},
		{"order", base + "/order", "Request a mirror"},
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
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(kind.wide, 900)); err != nil {
				t.Fatal(err)
			}
			if err := chromedp.Do(ctx, look); err != nil {
				t.Fatal(err)
			}
			text, err := visitPage(ctx, page.url)
			if err != nil {
				t.Fatalf("%s: %v", page.url, err)
			}
			late := time.Now().Add(time.Minute)
			for err == nil && !strings.Contains(text, page.want) && time.Now().Before(late) {
				time.Sleep(50 * time.Millisecond) // a part of the page comes after it
				text, err = shownText(ctx)
			}
			if !strings.Contains(text, page.want) {
				t.Errorf("%s does not say %q:\n%s", page.url, page.want, text)
			}
			wider, err := chromedp.Run(ctx, chromedp.Evaluate[bool](
				`document.documentElement.scrollWidth > innerWidth ||
					[...document.querySelectorAll("svg.heat")].some(e => e.parentNode.scrollWidth > e.parentNode.clientWidth) ||
					innerWidth > 800 && new Set([...document.querySelectorAll(".sides > .panel")].map(
						e => e.getBoundingClientRect().top)).size > 1`))
			if err != nil || wider {
				t.Errorf("%s%s: wider than the screen, or its sides are not level: %v", page.name, kind.suffix, err)
			}
			png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "console-"+page.name+kind.suffix+".png"), png, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// visitPage loads a page and returns its text.
func visitPage(ctx context.Context, url string) (string, error) {
	if err := browsertest.Load(ctx, url); err != nil {
		return "", err
	}
	return shownText(ctx)
}

func shownText(ctx context.Context) (string, error) {
	return chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
}
