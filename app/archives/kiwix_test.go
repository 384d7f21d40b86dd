// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/runs"
	"mirrord/archive/zim"
	"mirrord/testing/apptest"
	"mirrord/testing/oracle"
)

// redirecting is a site with a redirect by way of another one, one to itself and one to nothing.
func redirecting(w http.ResponseWriter, r *http.Request) {
	to := map[string]string{
		"/old": "/older.html", "/older.html": "/new.html",
		"/self": "/self", "/dead": "/none",
	}
	switch r.URL.Path {
	case "/":
		io.WriteString(w, "<title>Start</title><a href=old>1</a><a href=self>2</a>"+
			"<a href=dead>3</a>")
	case "/new.html":
		io.WriteString(w, "<title>New</title><a href=/>back</a><p>Edition 2")
	default:
		if to[r.URL.Path] == "" {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, to[r.URL.Path], http.StatusFound)
	}
}

// zimOf mirrors a site as the job site and exports it.
func zimOf(t *testing.T, site http.HandlerFunc, version int) (file string, z *zim.Reader) {
	t.Helper()
	a := apptest.TestApp(t.TempDir())
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "site.toml", apptest.GrowingJob(srv.URL))
	if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	file = filepath.Join(t.TempDir(), "site.zim")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file, Version: version}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err == nil {
		z, err = zim.Open(bytes.NewReader(data), int64(len(data)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, z
}

// Redirects that lead to a page are in the ZIM file, of the published version and of a kept one.
func TestZimRedirects(t *testing.T) {
	for _, version := range []int{0, 1} {
		_, z := zimOf(t, redirecting, version)
		got := map[string]string{}
		if err := z.Each(func(e zim.Located) error {
			if e.Namespace != zim.Content || e.Target < 0 {
				return nil
			}
			to, err := z.At(e.Target)
			got[e.Path] = to.Path
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"old.html": "new.html", "older.html": "new.html"}; !maps.Equal(got, want) {
			t.Errorf("redirects of version %d: %v, want %v", version, got, want)
		}
	}
}

// oddlyNamed is a site whose addresses have everything that is escaped somewhere.
func oddlyNamed(w http.ResponseWriter, r *http.Request) {
	addresses := []string{
		"/plain.html", "/dir/", "/other", "/list?of=birds&page=2", "/%C3%BC.html", "/a%20b.html",
		"/percent%25.html",
		"/hash%23x.html", "/plus+x.html", "/ask%3Fz", "/amp&x.html", "/old", "/" + strings.Repeat("long", 50),
	}
	switch n := slices.Index(addresses, r.RequestURI); {
	case r.RequestURI == "/":
		io.WriteString(w, "<title>Start</title>")
		for _, at := range addresses {
			fmt.Fprintf(w, "<a href=%q>link</a>", html.EscapeString(at))
		}
	case n < 0:
		redirecting(w, r)
	case r.RequestURI == "/old":
		http.Redirect(w, r, "/plain.html", http.StatusFound)
	default:
		fmt.Fprintf(w, "<title>Page %d of all</title><p>text %d", n, n)
	}
}

// kiwix-serve serves a ZIM export: each of its pages and what they link to, and it suggests pages by their
// titles. Its addresses are those of version 3.3; others say /content/site/ for /site/A/.
func TestKiwix(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it waits for a server of others: MIRRORD_LONG=1 runs it")
	}
	kiwix := oracle.Program(t, "kiwix-serve", "kiwix-tools")
	file, z := zimOf(t, oddlyNamed, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kiwix, "-i", "127.0.0.1", "-p", port, file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		cmd.Wait() // it was killed
	}()
	get := func(path string) string {
		for ctx.Err() == nil {
			res, err := http.Get("http://" + address + path)
			if err != nil {
				time.Sleep(50 * time.Millisecond) // it does not listen yet
				continue
			}
			b, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
			}
			return string(b)
		}
		t.Fatalf("%s: %v", path, context.Cause(ctx))
		return ""
	}
	at := map[string]string{} // pages by what they show
	if err := z.Each(func(e zim.Located) error {
		if e.Namespace == zim.Content {
			at[get("/site/A/"+(&url.URL{Path: e.Path}).EscapedPath())] = e.Path
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(at) < 13 {
		t.Errorf("the file has the pages %v", at)
	}
	links := 0
	for text := range at {
		for _, m := range regexp.MustCompile(`href="([^"]*)`).FindAllStringSubmatch(text, -1) {
			links++
			if to := get("/site/A/" + html.UnescapeString(m[1])); at[to] == "" {
				t.Errorf("%s gives %s", m[1], to)
			}
		}
	}
	if links != 13 {
		t.Errorf("%d links were followed", links)
	}
	if got := get("/suggest?content=site&term=Page+3"); !strings.Contains(got, `"list@of=birds&amp;page=2.html"`) {
		t.Errorf("suggestions are\n%s", got)
	}
}
