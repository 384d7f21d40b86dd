// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/orders"
	"mirrord/testing/poll"
)

// TestClusterOrders has three nodes, of which the first is the keeper. A node is killed while it runs an
// order that was made on it, and never comes back: another one makes the run, once, and the archive is had
// from each that is left, also when that node, too, is gone.
func TestClusterOrders(t *testing.T) {
	long(t, "two minutes")
	dir := t.TempDir()
	var mu sync.Mutex
	var pages []string // of the runs, by the process that asked
	var stop atomic.Bool
	stop.Store(true)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/docs/%d.html", &n); err != nil && r.URL.Path != "/docs/" {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		pages = append(pages, r.URL.Path)
		mu.Unlock()
		for n == 25 && stop.Load() { // to which no preview comes
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%d</title><p>Page %d.", n, n)
		if n < 30 {
			fmt.Fprintf(w, `<a href="/docs/%d.html">next</a>`, n+1)
		}
	}))
	defer site.Close()
	keeper, depot := unusedAddress(t), "file://"+filepath.Join(dir, "depot")
	jobs := filepath.Join(dir, "jobs")
	if err := os.Mkdir(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	consoles, processes := map[string]string{}, map[string]*exec.Cmd{}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		consoles[name] = unusedAddress(t)
		args := []string{
			"daemon", "--jobs", jobs, "--state", filepath.Join(dir, name), "--node", name, "--depot", depot,
			"--console", consoles[name], "--spread", "0",
		}
		if name == "a" {
			args = append(args, "--keeper", keeper)
		} else {
			args = append(args, "--cluster", "nats://"+keeper)
		}
		cmd := exec.Command("mirrord-of-site", args...)
		cmd.Env = append(os.Environ(), "SITE_AT="+site.Listener.Addr().String())
		log := new(bytes.Buffer)
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes[name] = cmd
		defer func() {
			_ = cmd.Process.Signal(os.Interrupt) // it may be killed
			_ = cmd.Wait()
			if t.Failed() {
				t.Logf("%s:\n%s", name, log)
			}
		}()
	}
	token := ""
	poll.Until(t, "a token", func() bool {
		out, err := exec.Command("mirrord", "console", "token", "add", "ci", "--role", "operate", "--state",
			filepath.Join(dir, "a")).Output()
		token = strings.TrimSpace(string(out))
		return err == nil
	})
	if i := strings.LastIndexAny(token, " \n"); i >= 0 {
		token = token[i+1:]
	}
	call := func(name, method, path, body string) (int, string) {
		r, err := http.NewRequest(method, "http://"+consoles[name]+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err.Error()
		}
		return resp.StatusCode, string(text)
	}
	type order struct {
		orders.OrderID
		State  orders.State
		LiesOn string `json:"lies_on"`
		Result orders.Result
	}
	get := func(name string) (o order) {
		_, text := call(name, http.MethodGet, "/v1/orders/1@b", "")
		_ = json.Unmarshal([]byte(text), &o) // then it has no state
		return o
	}
	poll.Until(t, "a draft", func() bool {
		code, _ := call("b", http.MethodPost, "/v1/orders", `{"url":"http://site.example/docs/","delay":0.25}`)
		return code == http.StatusCreated
	})
	for _, name := range names {
		poll.Until(t, "the preview on "+name, func() bool { return get(name).State == orders.Draft })
	}
	if code, text := call("c", http.MethodPost, "/v1/orders/1@b/place", ""); code != http.StatusOK {
		t.Fatalf("%d: %s", code, text)
	}
	poll.Until(t, "the run", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(pages) > 0 && pages[len(pages)-1] == "/docs/25.html"
	})
	if err := processes["b"].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	mu.Lock()
	pages = nil
	mu.Unlock()
	for _, name := range []string{"a", "c"} {
		if o := get(name); o.State != orders.Runs {
			t.Errorf("on %s it is %q", name, o.State)
		}
	}
	stop.Store(false)
	for _, name := range []string{"a", "c"} {
		poll.Until(t, "the end on "+name, func() bool { return get(name).State == orders.Done })
	}
	t.Logf("done %s after the node was killed", time.Since(killed).Round(time.Second))
	mu.Lock()
	count, again := map[string]int{}, 0
	for _, p := range pages {
		if count[p]++; count[p] > 1 {
			again++
		}
		if count[p] > 2 {
			t.Errorf("%s was requested %d times", p, count[p])
		}
	}
	if again > 2 { // two pages of a template show what differs between two answers
		t.Errorf("%d pages were requested twice", again)
	}
	mu.Unlock()
	poll.Until(t, "the archive in the depot", func() bool {
		return get("a").LiesOn == "" &&
			get("c").LiesOn == ""
	})
	o := get("a")
	if o.Result.Files != 31 || len(o.Result.Archives) != 1 {
		t.Errorf("%+v", o.Result)
	}
	file := "/v1/orders/1@b/files/" + o.Result.Archives[0].Name
	_, want := call("a", http.MethodGet, file, "")
	for _, name := range []string{"a", "c"} {
		code, got := call(name, http.MethodGet, file, "")
		if code != http.StatusOK || got != want || int64(len(got)) != o.Result.Archives[0].Bytes {
			t.Errorf("%s: %d, %d bytes", name, code, len(got))
		}
	}
	if err := processes["c"].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if code, got := call("a", http.MethodGet, file, ""); code != http.StatusOK || got != want {
		t.Errorf("with one node left: %d, %d bytes", code, len(got))
	}
	if code, text := call("a", http.MethodGet, "/v1/orders", ""); code != http.StatusOK ||
		strings.Count(text, `"number"`) != 1 {
		t.Errorf("the list: %d, %s", code, text)
	}
}
