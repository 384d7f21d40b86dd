// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mirrord/testing/oracle"
)

// ReplayBrowser is a browser without a window.
func ReplayBrowser(t *testing.T) context.Context {
	t.Helper()
	path := oracle.Program(t, "chromium", "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(10*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}
