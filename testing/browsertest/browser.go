// SPDX-License-Identifier: Apache-2.0

// Package browsertest starts a real browser for tests.
package browsertest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mirrord/testing/oracle"
)

// limit is for all that a test does with its browser, on a busy machine too.
const limit = 15 * time.Minute

// New is a browser without a window, with a profile of its own and further options. It ends with the test,
// which fails where the browser does not answer within the limit.
func New(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(oracle.Program(t, "chromium", "chromium")), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(limit))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}
