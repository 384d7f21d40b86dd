// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"testing"

	"mirrord/job"
	"mirrord/site"
)

func TestTypeRule(t *testing.T) {
	for _, c := range []struct {
		keys, mime, path   string
		refused, requisite bool // requisite: refused when a page needs it, too
	}{
		{"", "application/pdf", "/a", false, false},
		{`types = "pdf"`, "application/pdf", "/a", false, false},
		{`types = "pdf"`, "text/html", "/a", false, false},
		{`types = "pdf"`, "application/zip", "/a.pdf", true, false},
		{`types = "pdf"`, "application/octet-stream", "/a.pdf", false, false},
		{`types = "pdf"`, "image/png", "/a", true, false},
		{`types = "pdf"`, "application/json", "/a", true, false},
		{`types = "pdf"`, "video/mp4", "/a", true, true},
		{`types = ["pdf", "movies"]`, "video/mp4", "/a", false, false},
		{`not_types = "zip"`, "application/zip", "/a", true, true},
		{`not_types = "images"`, "image/png", "/a", true, true},
		{`not_types = "images"`, "application/octet-stream", "/a.PNG", true, true},
		{`not_types = "image/*"`, "image/svg+xml", "/a", true, true},
		{`not_types = "gif"`, "image/png", "/a", false, false},
		{`not_types = ["css", "js", "woff"]`, "text/css", "/a", true, false},
		{`not_types = "movies"`, "video/mp4", "/a", true, true},
		{`not_types = "json"`, "application/json", "/a", true, true},
		{"types = \"images\"\nnot_types = \"png\"", "image/png", "/a", true, true},
		{"types = \"images\"\nnot_types = \"png\"", "image/gif", "/a", false, false},
	} {
		j, err := job.Parse("j", "j.toml", []byte("url = \"http://h/\"\n[scope]\n"+c.keys))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Compile(j)
		if err != nil {
			t.Fatal(err)
		}
		u := site.Canonical("http://h" + c.path)
		why, refused := r.Types.Refuses(c.mime, u, false)
		_, needed := r.Types.Refuses(c.mime, u, true)
		if refused != c.refused || needed != c.requisite || refused != (why != "") {
			t.Errorf("%s: %s at %s: %v (%s), as a requisite %v", c.keys, c.mime, c.path, refused, why, needed)
		}
	}
}
