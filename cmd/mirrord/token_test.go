// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/internal/webhook"
)

// caller is a program that uses the API of a daemon.
type caller struct {
	*testing.T
	base, token string
}

func (c *caller) call(code int, want, method, path, body string, headers ...string) string {
	c.Helper()
	r, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != code || !strings.Contains(string(got), want) {
		c.Errorf("%s %s: %d %v, want %d with %q:\n%s", method, path, resp.StatusCode, err, code, want, got)
	}
	return string(got)
}

// Tokens of the command open the API of a daemon, and a signed call starts a run.
func TestAPI(t *testing.T) {
	site := demosite.New()
	srv := httptest.NewServer(site)
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	const fast = "[polite]\ndelay = \"0s\"\nfactor = 0.0\n"
	put(t, jobs, "docs.toml", fmt.Sprintf("url = %q\n%s", srv.URL+"/docs/", fast))
	d := startDaemon(t, jobs, state, "--console", "127.0.0.1:0")
	link := strings.TrimSpace(d.do(cli.ExitOK, "", "open"))
	base, _, _ := strings.Cut(link, "/login")
	c := &caller{T: t, base: base}
	secret := d.do(cli.ExitOK, `^mirrord_[0-9a-f]{64}\n$`, "console", "token", "add", "deploy", "--role", "operate")
	c.token = strings.TrimSpace(secret)
	d.do(cli.ExitUsage, "already", "console", "token", "add", "deploy")
	d.do(cli.ExitUsage, "cannot be a name", "console", "token", "add", "a b")
	d.do(cli.ExitUsage, "is no role", "console", "token", "add", "x", "--role", "king")
	d.do(cli.ExitUsage, "no job", "console", "token", "add", "x", "--hook", "nosuch")
	if text, err := os.ReadFile("../../docs/openapi.yaml"); err != nil ||
		c.call(http.StatusOK, "", "GET", "/v1/openapi.yaml", "") != string(text) {
		t.Errorf("docs/openapi.yaml differs from the served one: %v", err)
	}
	c.call(http.StatusOK, `"attached":false`, "POST", "/v1/jobs/docs/run", `{"wait":true}`)
	c.call(http.StatusOK, `"number":1`, "GET", "/v1/jobs/docs/versions", "")
	c.call(http.StatusOK, `"docs"`, "GET", "/v1/registry", "")
	for _, set := range []string{"tls.insecure=true", "polite.allow_private=true", "url=http://127.0.0.1:1/",
		"hooks.after=id", "publish.dir=/tmp/x"} {
		body, err := json.Marshal(map[string]any{"set": []string{set}})
		if err != nil {
			t.Fatal(err)
		}
		key, _, _ := strings.Cut(set, "=")
		c.call(http.StatusBadRequest, key, "POST", "/v1/jobs/docs/run", string(body))
	}

	key := strings.TrimSpace(d.do(cli.ExitOK, `^whsec_`, "console", "token", "add", "forge", "--hook", "docs"))
	signs, err := webhook.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c.call(http.StatusAccepted, `"due"`, "POST", "/v1/hook/docs", "{}", webhook.HeaderID, "a", webhook.HeaderTime,
		strconv.FormatInt(now.Unix(), 10), webhook.HeaderSignature, webhook.Sign(signs, "a", now, []byte("{}")))
	list := d.do(cli.ExitOK, "deploy +operate", "console", "token", "list")
	if strings.Contains(list, c.token) || !strings.Contains(list, "sign calls for docs") {
		t.Errorf("token list: %s", list)
	}
	d.do(cli.ExitOK, "", "console", "token", "remove", "deploy")
	d.do(cli.ExitUsage, "no token", "console", "token", "remove", "deploy")
	d.stop(cli.ExitOK)
	if all := d.do(cli.ExitOK, "forge", "console", "token", "list"); strings.Contains(all, "deploy") {
		t.Errorf("token list: %s", all)
	}
}
