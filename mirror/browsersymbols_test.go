// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"mirrord/internal/demosite"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/testing/mirrortest"
)

// hiddenSymbols counts the symbols of other files that a page shows nothing of.
const hiddenSymbols = `new Promise(done => setTimeout(() => done([...document.querySelectorAll('use')].filter(u => {
	const to = u.getAttribute('href') || u.getAttribute('xlink:href') || ''
	return to.indexOf('#') > 0 && u.getBBox().width === 0
}).length), 200))`

// TestBrowserSymbols: the symbols of other files that a browser does not show from file:// are the declared
// ones; it shows nothing less.
func TestBrowserSymbols(t *testing.T) {
	t.Parallel()
	site := demosite.New()
	srv := httptest.NewServer(site)
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", srv.URL+demosite.Entry))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	srv.Close()
	dir, err := filepath.EvalSymlinks(filepath.Join(m.Dir, "sites/test/current"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, phm.FilesName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	declared := map[string]int{}
	for file, err := range phm.Files(f) {
		if err != nil {
			t.Fatal(err)
		}
		var at []int64
		if v, ok := file.Extra[phm.SymbolsField]; ok {
			if err := json.Unmarshal(v, &at); err != nil {
				t.Fatal(err)
			}
			declared[file.Path] = len(at)
		}
	}
	if len(declared) < 40 {
		t.Errorf("%d pages declare symbols", len(declared))
	}
	b := startBrowser(t)
	for _, p := range htmlPages(t, dir) {
		at := (&url.URL{Scheme: "file", Path: filepath.Join(dir, p)}).String()
		if err := chromedp.Do(b.ctx, chromedp.Navigate(at)); err != nil {
			t.Fatal(err)
		}
		n, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](hiddenSymbols, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
		if n != declared[p] {
			t.Errorf("%s: %d symbols are not shown, %d are declared", p, n, declared[p])
		}
	}
}
