// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/apptest"
)

// explain says of a file in any form what it has of a URL.
func TestExplainFile(t *testing.T) {
	a, _, srv, _ := apptest.MirrorGrowing(t, 1)
	for _, form := range []string{"phm", "zim", "tar.zst", "wacz", "warc.gz"} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file}); err != nil {
			t.Fatal(err)
		}
		x, err := ExplainFile(t.Context(), a, file, srv.URL+"/same.html", true)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if x.Form == "web archive" {
			a, head := x.Answers, "X-Server: growing\r\n"
			if len(a) != 1 || a[0].Crawl != 1 || a[0].Status != 200 || a[0].Offset == 0 ||
				!strings.Contains(x.Head, head) {
				t.Errorf("%s: %+v", form, x)
			}
		} else if e := x.Entry; e == nil || e.Path != "same.html" || e.Type != "text/html" || e.SHA256 == "" {
			t.Errorf("%s: %+v", form, x)
		}
		x, err = ExplainFile(t.Context(), a, file, srv.URL+"/none.html", true)
		if err != nil || x.Entry != nil || x.Answers != nil {
			t.Errorf("%s: %+v, %v", form, x, err)
		}
		if _, err := ExplainFile(t.Context(), a, file, "http://[", false); err == nil {
			t.Error("an invalid URL was explained")
		}
	}
}
