// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// Every way in which a document can refer to another is followed and relocated: the test card's targets are
// all in the copy, and every relative link of it leads somewhere.
func TestEveryKindOfLink(t *testing.T) {
	t.Parallel()
	site := demosite.New()
	srv := httptest.NewServer(site)
	defer srv.Close()
	out := filepath.Join(t.TempDir(), "copy")
	code, stdout, stderr := runArgs(t, nil, "get", srv.URL+"/", "-o", out, "--set", "polite.delay=0s", "--set",
		"polite.factor=0")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	// All there is, but for what robots.txt forbids, and nothing else.
	for _, p := range site.Paths(1) {
		name := filepath.Join(out, filepath.FromSlash(p))
		if strings.HasSuffix(p, "/") {
			name = filepath.Join(name, "index.html")
		}
		_, err := os.Stat(name)
		switch forbidden := p == "/private/keeper.html"; {
		case forbidden && err == nil:
			t.Errorf("%s is in the copy although robots.txt forbids it", p)
		case !forbidden && err != nil && p != "/robots.txt" && p != "/sitemap.xml":
			t.Errorf("%s is not in the copy", p)
		}
	}
	if code, stdout, stderr := runArgs(t, nil, "verify", out); code != cli.ExitOK {
		t.Errorf("verify: exit code %d: %s%s", code, stdout, stderr)
	}
	// Only links to programs, forbidden and missing pages lead from the copy to the site.
	card, err := os.ReadFile(filepath.Join(out, "card", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for rest := string(card); ; {
		_, after, found := strings.Cut(rest, srv.URL)
		if !found {
			break
		}
		if !strings.HasPrefix(after, "/cgi-bin/") && !strings.HasPrefix(after, "/card/missing.html") {
			t.Errorf("the test card's copy links to the site: …%.40s", after)
		}
		rest = after
	}
}
