// SPDX-License-Identifier: Apache-2.0

//go:build browser

package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"mirrord/testing/browsertest"
)

// attack is what a hostile mirrored page tries against the addresses of another mirror, its frame among them,
// and of the list of mirrors. It returns what it could read.
const attack = `async function attack(targets) {
	const got = {origin: self.origin}
	for (const t of targets) {
		try { got["fetch " + t] = await (await fetch(t)).text() } catch (e) {}
		try {
			const x = new XMLHttpRequest()
			x.open("GET", t, false); x.send()
			got["xhr " + t] = x.responseText
		} catch (e) {}
		await new Promise(done => {
			const f = document.createElement("iframe")
			f.onload = () => {
				try { if (f.contentDocument.body.textContent) got["frame " + t] = f.contentDocument.body.textContent } catch (e) {}
				done()
			}
			f.src = t
			document.body.append(f)
		})
		await new Promise(done => {
			const s = document.createElement("script")
			s.onload = () => { if (self.stolen) got["script " + t] = self.stolen; done() }
			s.onerror = done
			s.src = t
			document.body.append(s)
		})
	}
	try { got.storage = String(localStorage.length) } catch (e) {}
	try { document.domain = document.domain.split(".").slice(1).join("."); got.domain = document.domain } catch (e) {}
	try { document.cookie = "planted=1"; if (document.cookie) got.cookie = document.cookie } catch (e) {}
	return JSON.stringify(got)
}`

// TestBrowser holds a real browser to what docs/serve.md promises of mirrored pages: by host they are origins
// of their own, by path they have none. The control shows that the attack reads what it may.
func TestBrowser(t *testing.T) {
	sites := testSites()
	page := fakeFile{
		url:  "https://one.test/evil.html",
		path: "evil.html",
		mime: "text/html",
		body: "<!DOCTYPE html><title>evil</title><body><script>" + attack + "</script>",
	}
	own := fakeFile{
		url:  "https://one.test/own.js",
		path: "own.js",
		mime: "text/javascript",
		body: `self.stolen = "own"`,
	}
	secret := fakeFile{
		url:  "http://two.test:81/secret.js",
		path: "secret.js",
		mime: "text/javascript",
		body: `self.stolen = "secret"`,
	}
	last := sites["one"].versions[2]
	last.files = append(last.files, page, own)
	sites["two"].versions[0].files = append(sites["two"].versions[0].files, secret)
	s, err := New(Options{Sites: sites, NoBar: true, Texts: testTexts()})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(s.ServeHTTP))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}

	ctx := browsertest.New(t)
	run := func(address string, targets ...string) map[string]string {
		t.Helper()
		if err := browsertest.Load(ctx, address); err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		list, err := json.Marshal(targets)
		if err != nil {
			t.Fatal(err)
		}
		text, err := chromedp.Run(ctx,
			chromedp.Evaluate[string](fmt.Sprintf("attack(%s)", list), chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		got := map[string]string{}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}

	oneHost, twoHost, base := "http://one.localhost:"+u.Port(), "http://two.localhost:"+u.Port(),
		"http://127.0.0.1:"+u.Port()
	local := "http://localhost:" + u.Port()
	victims := []string{twoHost + "/sub/start.html", twoHost + "/secret.js", local + "/",
		local + "/.well-known/mirrord/sites", local + "/two/sub/start.html", base + "/", local + findPath + "?q=a",
		base + findPath + "?q=a"}

	got := run(oneHost+"/evil.html", victims...)
	for what, text := range got {
		if what != "origin" && what != "storage" && what != "cookie" { // its own
			t.Errorf("by host: %s: %q", what, text)
		}
	}
	if got["origin"] != oneHost {
		t.Errorf("by host: origin %q", got["origin"])
	}
	control := run(oneHost+"/evil.html", oneHost+"/docs/", oneHost+"/own.js")
	if control["fetch "+oneHost+"/docs/"] != "docs" || control["frame "+oneHost+"/docs/"] != "docs" ||
		control["script "+oneHost+"/own.js"] != "own" {
		t.Errorf("by host, its own pages: %v", control)
	}

	victims = append(victims, base+"/two/sub/start.html", base+"/.well-known/mirrord/sites", base+"/one/docs/")
	got = run(base+"/one/evil.html", victims...)
	for what, text := range got {
		if what != "origin" {
			t.Errorf("by path: %s: %q", what, text)
		}
	}
	if got["origin"] != "null" {
		t.Errorf("by path: origin %q", got["origin"])
	}
}
