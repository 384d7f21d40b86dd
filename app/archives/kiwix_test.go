// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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

// Redirects that lead to a page are in the ZIM file, of the published version and of a kept one.
func TestZimRedirects(t *testing.T) {
	a := apptest.TestApp(t.TempDir())
	srv := httptest.NewServer(http.HandlerFunc(redirecting))
	t.Cleanup(srv.Close)
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "site.toml", apptest.GrowingJob(srv.URL))
	if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, version := range []int{0, 1} {
		file := filepath.Join(t.TempDir(), "site.zim")
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file, Version: version}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zim.Open(bytes.NewReader(data), int64(len(data)), zim.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for i := range z.Len() {
			if e, target := z.Entry(i); e.Namespace == zim.Content && target >= 0 {
				to, _ := z.Entry(target)
				got[e.Path] = to.Path
			}
		}
		if want := map[string]string{"old.html": "new.html", "older.html": "new.html"}; !maps.Equal(got, want) {
			t.Errorf("redirects of version %d: %v, want %v", version, got, want)
		}
	}
}

// kiwix-serve serves a ZIM export, and suggests pages by their titles.
func TestKiwix(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it waits for a server of others: MIRRORD_LONG=1 runs it")
	}
	kiwix := oracle.Program(t, "kiwix-serve", "kiwix-tools")
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	file := filepath.Join(t.TempDir(), "site.zim")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file}); err != nil {
		t.Fatal(err)
	}
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
	for path, want := range map[string]string{
		"/site/A/index.html":                "Edition 1",
		"/site/A/same.html":                 "stays as it is",
		"/site/A/moved.html":                "Page 2", // by a redirect
		"/suggest?content=site&term=Page+3": `"p3.html"`,
	} {
		if got := get(path); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", path, want, got)
		}
	}
}
