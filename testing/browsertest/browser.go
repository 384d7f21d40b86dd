// SPDX-License-Identifier: Apache-2.0

// Package browsertest starts a real browser for tests.
package browsertest

import (
	"context"
	"errors"
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
	// A browser ends with the context of its first step, so that must not be one with a shorter life.
	if err := chromedp.Do(ctx, chromedp.Sleep(0)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Load shows an address. Of a page with frames the browser at times does not say that it has loaded, and what
// a form or a script just began to load ends an attempt: then it is asked again.
func Load(ctx context.Context, address string) error {
	for {
		once, cancel := context.WithTimeout(ctx, time.Minute)
		err := chromedp.Do(once, chromedp.Navigate(address))
		cancel()
		var refused *chromedp.LoadError
		aborted := errors.As(err, &refused) && refused.ErrorText == "net::ERR_ABORTED"
		if ctx.Err() != nil || (!aborted && !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
	}
}
