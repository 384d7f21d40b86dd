// SPDX-License-Identifier: Apache-2.0

//go:build browser

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mirrord/cmd/mirrord/daemon"
	"mirrord/testing/browsertest"
)

// TestBrowser takes the pictures of README of the console at the end of a demonstration, in a real browser.
// They stay in the directory that MIRRORD_SHOTS names.
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
	for _, shot := range []struct {
		name, url, want string
		wide            int64
		scheme          string
	}{
		{"console-list.png", s.console, "Kestrel Point Observatory", 1280, "light"},
		{"console-job.png", job, "Last runs", 1280, "light"},
		{"console-changes.png", job + "/changes", "Change history", 1280, "light"},
		{"console-phone.png", job, "Last runs", 390, "dark"},
	} {
		look := func(ctx context.Context, tab *chromedp.Target) (v chromedp.Void, err error) {
			_, err = cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: shot.scheme}},
			})
			return v, err
		}
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(shot.wide, 800)); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Do(ctx, look); err != nil {
			t.Fatal(err)
		}
		text, err := visitPage(ctx, shot.url)
		if err != nil {
			t.Fatalf("%s: %v", shot.url, err)
		}
		if !strings.Contains(text, shot.want) {
			t.Errorf("%s does not say %q:\n%s", shot.url, shot.want, text)
		}
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, shot.name), png, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// visitPage loads a page and returns its text.
func visitPage(ctx context.Context, url string) (string, error) {
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return "", err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
}
