// SPDX-License-Identifier: Apache-2.0

//go:build browser

package console

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/search"
	"mirrord/scheduler/status"
	"mirrord/serve"
	"mirrord/serve/find"
)

// mirrorsOf serves the mirrors of an app, as mirrord serve does.
func mirrorsOf(t *testing.T, a *env.App) (string, *atomic.Int32) {
	t.Helper()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	kept := &look.KeptVersions{State: st}
	t.Cleanup(func() { kept.Close() })
	sites := serve.NewStore(st, kept, nil)
	t.Cleanup(func() { sites.Close() })
	texts := &serve.TextLookup{
		Find: func(ctx context.Context, q find.TextSearch) (*find.SearchResults, error) {
			found, err := new(fakeTexts).Find(ctx, search.FindRequest{Words: q.Words})
			if err != nil {
				return nil, err
			}
			return &found.SearchResults, nil
		},
		Made: func() bool { return true },
	}
	srv, err := serve.New(serve.Options{Sites: sites, Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	var shown atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := httptest.NewRecorder()
		srv.ServeHTTP(got, r)
		if got.Code == http.StatusOK && strings.Contains(got.Body.String(), "<p>state") {
			shown.Add(1)
		}
		maps.Copy(w.Header(), got.Header())
		w.WriteHeader(got.Code)
		w.Write(got.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	return s.URL, &shown
}

// The arrow keys lead from version to version; without scripts the slider has a button. The frame shows the
// page of mirrord serve, and its scripts do not run.
func TestTimelineInBrowser(t *testing.T) {
	a := mirrored(t)
	mirrors, shown := mirrorsOf(t, a)
	c := newChromium(t, func(o *Options) { o.App, o.Mirrors = a, mirrors })
	c.with(func(d *fakeDaemon) { d.jobs = []status.Job{{Name: "site", Version: 2}} })
	key := func(k string) {
		t.Helper()
		c.until(`document.readyState == "complete" && document.activeElement.type == "range"`)
		if err := chromedp.Do(c.ctx, chromedp.KeyEvent(k)); err != nil {
			t.Fatal(err)
		}
	}
	c.goTo("/jobs/site/view?version=2&path=docs/1.html")
	c.wait("Version 2 of 2")
	key(kb.ArrowLeft)
	c.wait("Version 1 of 2")
	key(kb.ArrowRight)
	c.wait("Version 2 of 2")
	c.scripts(false)
	c.goTo("/jobs/site/view?version=2&path=docs/1.html")
	c.wait("Version 2 of 2")
	key(kb.ArrowLeft + "\r")
	c.wait("Version 1 of 2")
	c.scripts(true)
	c.goTo("/jobs/site/view?version=2&path=docs/1.html")
	got := c.ask(`new Promise(done => {
		const f = document.querySelector("iframe")
		const n = document.createElement("iframe")
		n.setAttribute("sandbox", "")
		n.onload = () => done(String(n.contentDocument === null))
		n.src = f.src
		f.replaceWith(n)
	})`)
	if got != "true" || shown.Load() == 0 {
		t.Errorf("the frame is of this origin: %s; shown %d times", got, shown.Load())
	}
	c.shot("timeline.png")
	c.goTo("/jobs/site/beside?from=1&to=2&path=docs/1.html")
	c.wait("1 word removed, 1 word added")
	c.shot("beside.png")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.seen {
		if len("http://"+at) < len(c.base) || ("http://" + at)[:len(c.base)] != c.base {
			t.Errorf("a request for %s", at)
		}
	}
}
