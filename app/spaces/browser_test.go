// SPDX-License-Identifier: Apache-2.0

package spaces_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/phm/space"
	"mirrord/testing/apptest"
	"mirrord/testing/browsertest"
)

// ring are three sites of which each links to the next; the servers are gone when it returns.
func ring(t *testing.T) *env.App {
	t.Helper()
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	names := []string{"guide", "post", "shop"}
	servers := map[string]*httptest.Server{}
	for _, name := range names {
		servers[name] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := func(name, path string) string { return servers[name].URL + path }
			next := map[string]string{
				"guide/":                to("post", "/a/deep/page.html?q=1#part"),
				"post/":                 "a/deep/page.html?q=1",
				"post/a/deep/page.html": to("shop", "/moved"),
				"shop/":                 "moved",
				"shop/things/one/":      to("guide", "/"),
			}[name+r.URL.Path]
			switch {
			case r.URL.Path == "/moved":
				http.Redirect(w, r, "/things/one/", http.StatusFound)
			case r.URL.Path == "/logo.svg":
				w.Header().Set("Content-Type", "image/svg+xml")
				fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>`)
			case next == "":
				http.NotFound(w, r)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<!DOCTYPE html><title>%s</title><h1 id="part">x</h1><img src="%s">`+
					`<a id="next" href="%s">next</a>`, name+r.URL.Path, to("shop", "/logo.svg"), next)
			}
		}))
		t.Cleanup(servers[name].Close)
	}
	for _, name := range names {
		apptest.Put(t, a.Jobs, name+".toml", fmt.Sprintf("url = %q\nspace = \"ring\"\nrequisites = \"host\"\n"+
			"polite.delay = \"0s\"\npolite.factor = 0\n", servers[name].URL+"/"))
	}
	for _, name := range names {
		if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		servers[name].Close()
	}
	return a
}

// serveFiles starts nginx for a folder and returns its address. Its worker runs as root where the test does:
// folders of tests are closed to others.
func serveFiles(t *testing.T, folder string) string {
	t.Helper()
	bin, err := exec.LookPath("nginx")
	if err != nil {
		if bin, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Fatal("nginx is not installed: apt-get install nginx-light")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), l.Addr().String()
	apptest.Put(t, dir, "nginx.conf", fmt.Sprintf(`daemon off; user root; pid %[1]s/pid; error_log %[1]s/log;
events {}
http {
	types { text/html html; image/svg+xml svg; }
	access_log off;
	client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3;
	uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
	server { listen %[2]s; root %[3]s; }
}`, dir, address, folder))
	cmd := exec.Command(bin, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "log"))
	cmd.ExtraFiles = []*os.File{socket}        // so that the port is reserved, and early requests wait
	cmd.Env = append(os.Environ(), "NGINX=3;") // the descriptor, as nginx hands it from one process to the next
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	socket.Close()
	l.Close()
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + address + "/"
}

// TestSpaceBrowser clicks through three mirrors of a space in a browser, from file:// and from a web server,
// when the sites are gone: each click opens the next mirror's copy, pictures of other mirrors show, and no
// other request is made.
func TestSpaceBrowser(t *testing.T) {
	a := ring(t)
	folder := filepath.Join(apptest.StateOf(t, a), space.FilesDir("ring"))
	ctx := browsertest.New(t)
	var mu sync.Mutex
	var asked []string
	err := chromedp.Listen(ctx, func(ev any) {
		if ev, ok := ev.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, ev.Request.URL)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		t.Fatal(err)
	}
	fromDisk := url.URL{Scheme: "file", Path: folder + "/"}
	for _, base := range []string{fromDisk.String(), serveFiles(t, folder)} {
		mu.Lock()
		asked = nil
		mu.Unlock()
		if err := browsertest.Load(ctx, base+"index.html"); err != nil {
			t.Fatal(err)
		}
		click := chromedp.Click(chromedp.CSS(`a[href="@@guide/index.html"]`))
		for _, want := range []string{
			"@@guide/index.html", "@@post/a/deep/page@q=1.html#part", "@@shop/things/one/index.html",
			"@@guide/index.html", "@@post/a/deep/page@q=1.html#part",
		} {
			if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, click)); err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			got, err := chromedp.Run(ctx, chromedp.Evaluate[string](
				`document.images[0].decode().then(() => document.images[0].naturalWidth + " " + location.href)`,
				chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if got != "9 "+base+want {
				t.Fatalf("got %q, want 9 and %q", got, base+want)
			}
			click = chromedp.Click(chromedp.ID("next"))
		}
		mu.Lock()
		elsewhere := func(u string) bool { return !strings.HasPrefix(u, base) }
		if asked == nil || slices.ContainsFunc(asked, elsewhere) {
			t.Errorf("from %s: asked for %q", base, asked)
		}
		mu.Unlock()
	}
}
