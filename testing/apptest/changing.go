// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/runs"
)

// Changing is a site of which some pages change with each version, mirrored in several.
type Changing struct {
	*env.App
	URL     string
	Version atomic.Int64
	now     atomic.Int64 // Unix seconds
}

const ChangingStart = 1_790_000_000

func (s *Changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := s.Version.Load()
	w.Header().Set("Set-Cookie", "session=secret")
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, "<title>Caf\xe9 %d</title><a href=same.html>s</a>", min(v, 2))
		fmt.Fprint(z, "<a href=old>o</a><img src=big.bin>")
		z.Close()
	case "/same.html":
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<title>Same</title>")
	case "/old":
		http.Redirect(w, r, "/same.html", http.StatusMovedPermanently)
	case "/big.bin":
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16))
	default:
		http.NotFound(w, r)
	}
}

// Mirror makes runs, one a day.
func (s *Changing) Mirror(t *testing.T, runList int64) {
	t.Helper()
	s.App.Jobs = t.TempDir()
	s.App.Now = func() time.Time { return time.Unix(s.now.Load(), 0) }
	Put(t, s.App.Jobs, "site.toml", "url = \""+s.URL+"/\"\nfull_runs = 1000\n[polite]\ndelay = \"0s\"\n"+
		"factor = 0\n[limits]\ntraps = \"off\"\n[publish]\nkeep = \"all\"\n")
	for v := range runList {
		s.Version.Store(v + 1)
		s.now.Store(ChangingStart + v*86400)
		if sum, err := runs.RunNow(t.Context(), s.App, runs.RunHere{Job: "site"}); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
}
