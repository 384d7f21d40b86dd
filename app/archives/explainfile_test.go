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
	for form, want := range map[string]string{
		"phm":     "path         same.html\ntype         text/html\nsize         ",
		"zim":     "path         same.html\n",
		"tar.zst": "sha256       ",
		"wacz":    "crawl 1, status 200, ",
		"warc.gz": " at offset ",
	} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file}); err != nil {
			t.Fatal(err)
		}
		for url, want := range map[string]string{
			srv.URL + "/same.html": want,
			srv.URL + "/none.html": "nothing: " + file,
		} {
			var text strings.Builder
			x, err := ExplainFile(t.Context(), a, file, url, true)
			if err == nil {
				err = x.WriteText(&text)
			}
			if err != nil || !strings.Contains(text.String(), want) {
				t.Errorf("%s: %v, no %q in\n%s", form, err, want, &text)
			}
			web := x != nil && x.Form == "web archive" && want[0] != 'n'
			if web && !strings.Contains(text.String(), "X-Server: growing\n") {
				t.Errorf("%s: no head in\n%s", form, &text)
			}
		}
		if _, err := ExplainFile(t.Context(), a, file, "http://[", false); err == nil {
			t.Error("an invalid URL was explained")
		}
	}
}
