// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// What get cannot have, and could not have later, is one plain line with what to do, and nothing is left.
func TestGetFailsInOneLine(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(page))
	defer secure.Close()
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	forbidden := httptest.NewServer(robots("User-agent: *\nDisallow: /\n"))
	defer forbidden.Close()
	for url, want := range map[string]string{
		"http://nowhere.invalid/": "no host has this name; look at its spelling",
		secure.URL + "/":          "its certificate is not accepted; --set tls.ca_file=PEM",
		none.URL + "/x":           "the site has no such page; look at its spelling",
		forbidden.URL + "/":       "its robots.txt forbids that; ask its owner",
	} {
		t.Run(strings.TrimPrefix(want, "its "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out, errs bytes.Buffer
			code := run(t.Context(), cli.Environ{
				Stdin:     strings.NewReader(""),
				Stdout:    &out,
				Stderr:    &errs,
				LookupEnv: vars(),
				Network:   names{},
			}, []string{"get", url, "--set", "limits.retries=0"})
			line := errs.String()
			if code != cli.ExitError || out.Len() > 0 || strings.Count(line, "\n") != 1 ||
				!strings.HasPrefix(line, "mirrord: "+url+": ") || !strings.Contains(line, want) {
				t.Errorf("exit code %d: %s%s", code, &out, line)
			}
			left, err := os.ReadDir(".")
			if err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}
