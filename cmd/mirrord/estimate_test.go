// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"
)

// The estimate of a preview, made over HTTP with at most 20 requests, holds for 8 of 10 sites within a factor
// of two. The ordinary run looks at two sites, and at the number of requests.
func TestEstimate(t *testing.T) {
	held := 0
	all := corpora()
	if os.Getenv("MIRRORD_LONG") != "" {
		all = append(all, corpus{"debian-handbook", "usr/share/doc/debian-handbook/html", "en-US/"},
			corpus{"maint-guide", "usr/share/doc/maint-guide/html", "index.en.html"})
	}
	for _, c := range all {
		inner := c.serve(t)
		var asked atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			inner.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		w := &corpusWay{t: t, dir: t.TempDir(), url: srv.URL + "/tree/" + c.seed}
		const polite = "\n[polite]\ndelay = \"0s\"\nfactor = 0.0\ntimeout = \"10m\"\n"
		if err := os.Mkdir(w.at("jobs"), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "url = \"" + w.url + "\"" + polite
		if err := os.WriteFile(path.Join(w.at("jobs"), "site.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var plan struct{ Least, Most int64 }
		at := []string{"--json", "--jobs", w.at("jobs"), "--state", w.at("state")}
		if err := json.Unmarshal([]byte(w.do(append([]string{"plan", "site"}, at...)...)), &plan); err != nil {
			t.Fatal(err)
		}
		if n := asked.Load(); n > 20 {
			t.Errorf("%s: the preview made %d requests", c.pkg, n)
		}
		var sum struct{ Files int64 }
		if err := json.Unmarshal([]byte(w.do(append([]string{"run-now", "site"}, at...)...)), &sum); err != nil {
			t.Fatal(err)
		}
		if plan.Most > 16*plan.Least { // any range would hold if it were wide enough
			t.Errorf("%s: %d to %d says nothing", c.pkg, plan.Least, plan.Most)
		}
		holds := plan.Least <= 2*sum.Files && sum.Files <= 2*plan.Most
		if holds {
			held++
		}
		t.Logf("%s: %d to %d, in truth %d: %v", strings.TrimSuffix(path.Join(c.pkg, c.seed), "/"), plan.Least,
			plan.Most, sum.Files, holds)
	}
	if os.Getenv("MIRRORD_LONG") != "" && 10*held < 8*len(all) {
		t.Errorf("the range holds for %d of %d sites", held, len(all))
	}
}
