// SPDX-License-Identifier: Apache-2.0

package look_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/look"
	"mirrord/evolution/policy"
	"mirrord/replay"
	"mirrord/testing/apptest"
)

// Full syncs in a replay of a job cost what the runs of the job requested: its URLs, and no listings of
// directories that the site does not have.
func TestOwnHistoryCost(t *testing.T) {
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.Version.Load()
		p := r.URL.Path
		w.Header().Set("ETag", strconv.Quote(p)) // a file, which is not requested twice
		switch {
		case p == "/":
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, v))
			fmt.Fprintf(w, "<title>%d</title>", v)
			for i := range 4 + v {
				fmt.Fprintf(w, "<a href=/a/b/c%d/page.html>p</a>", i)
			}
		case strings.HasPrefix(p, "/a/b/"):
			fmt.Fprintf(w, "<title>%s</title>", p)
		default: // robots.txt, the icon
			http.NotFound(w, r)
			return
		}
		requests.Add(1)
	}))
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, 4)
	h, err := look.OwnHistory(s.App, "site", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay.Run(h, replay.Options{Policy: policy.Full, Train: 1})
	if err != nil {
		t.Fatal(err)
	}
	// 6 in the first run, one more in each later one. In the fourth the entry page, which changed for the third
	// time in a row, is requested once more to see whether two answers differ.
	saw := requests.Load() - 1
	if got := int64(r.Total.Requests) + 6; len(r.Steps) != 3 || got != saw || got != 6+7+8+9 {
		t.Errorf("%d steps, %d requests, the server saw %d and one", len(r.Steps), got, saw)
	}
	if r, err = replay.Run(h, replay.Options{Train: 1, Price: -1}); err != nil || *r.Total.CR != 1 {
		t.Errorf("new pages are found by links: %+v, %v", r.Total, err)
	}
}
