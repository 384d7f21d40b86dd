// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/testing/certtest"
)

// A console with a certificate is reached over TLS only; where others reach it, there is a user first.
func TestConsoleTLS(t *testing.T) {
	dir := t.TempDir()
	names, pool := certtest.Put(t, dir, 1)
	for names, want := range map[string]string{"x": "CERT,KEY", "x,y": "no such file"} {
		code, _, errs := runArgs(t, nil, "daemon", "--state", t.TempDir(), "--console-tls", names)
		if code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", names, code, errs)
		}
	}
	for _, address := range []string{"mirrors.example.org", "127.0.0.1:8080", "javascript:alert(1)"} {
		code, _, errs := runArgs(t, nil, "daemon", "--state", t.TempDir(), "--console-mirrors", address)
		if code != cli.ExitUsage || !strings.Contains(errs, "is not an http or https address") {
			t.Errorf("%s: %d %s", address, code, errs)
		}
	}
	code, _, errs := runArgs(t, nil, "daemon", "--jobs", t.TempDir(), "--state", t.TempDir(), "--console",
		"0.0.0.0:0", "--console-tls", names)
	if code == cli.ExitOK || !strings.Contains(errs, "mirrord console user add") {
		t.Errorf("without a user: %d %s", code, errs)
	}
	d := startDaemon(t, t.TempDir(), t.TempDir(), "--console", "127.0.0.1:0", "--console-tls", names)
	link := strings.TrimSpace(d.do(cli.ExitOK, "^https://127", "open"))
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	client.CloseIdleConnections()
	if resp.ProtoMajor != 2 {
		t.Errorf("the console speaks %s", resp.Proto)
	}
	if c := resp.Cookies(); resp.StatusCode != http.StatusSeeOther || len(c) != 1 || !c[0].Secure {
		t.Errorf("%s, %v", resp.Status, c)
	}
	resp, err = http.Get("http" + strings.TrimPrefix(link, "https"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", resp.Status)
	}
}
