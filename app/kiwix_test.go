// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kiwix-serve serves what is exported as ZIM, and suggests pages by their titles.
func TestKiwix(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it waits for a server of others: MIRRORD_LONG=1 runs it")
	}
	kiwix, err := exec.LookPath("kiwix-serve")
	if err != nil {
		t.Skip("kiwix-serve is not installed (Debian's kiwix-tools)")
	}
	a, _, _, _ := mirrorGrowing(t, 1)
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
			if err != nil { // it does not listen yet
				time.Sleep(50 * time.Millisecond)
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
		"/suggest?content=site&term=Page+3": `"p3.html"`,
	} {
		if got := get(path); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in\n%s", path, want, got)
		}
	}
}
