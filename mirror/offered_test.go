// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/testing/mirrortest"
)

// nameOf is the name under which the site offered a file of the published version.
func nameOf(t *testing.T, m *mirrortest.Mirror, path string) string {
	t.Helper()
	for line := range strings.Lines(allFiles(t, m)[phm.FilesName]) {
		for f, err := range phm.Files(strings.NewReader(line)) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Path == path {
				return f.Name()
			}
		}
	}
	t.Errorf("%s is not in the table: %q", path, m.Paths())
	return ""
}

// The name under which a program offers a file is kept, and names a file of which nothing else is known.
func TestOfferedNames(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	offered := func(mime, disposition, body string) mirrortest.Page {
		return mirrortest.Page{
			Header: map[string]string{"Content-Type": mime, "Content-Disposition": disposition},
			Body:   body,
		}
	}
	const binary = "application/octet-stream"
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=get.php?id=7>7</a> <a href=get/8>8</a> "+
		"<a href=get/9>9</a> <a href=shell.php>s</a> <a href=a.zip>a</a> <a href=old.bin>old</a>"))
	w.Set(home+"/get.php?id=7", offered(binary, `attachment; filename="report 7.pdf"`, "seven"))
	w.Set(home+"/get/8", offered(binary, `attachment; filename*=UTF-8''caf%C3%A9.ods`, "eight"))
	w.Set(home+"/get/9", offered("application/pdf", `attachment; filename=nine.exe`, "nine"))
	w.Set(home+"/shell.php", offered(binary, `attachment; filename=../shell.php`, "shell"))
	w.Set(home+"/a.zip", offered("application/zip", `attachment; filename="a.zip"`, "zip"))
	w.Set(home+"/old.bin", mirrortest.Page{Header: map[string]string{"Content-Type": binary}, Body: "old"})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "index.html", "get.php@id=7.pdf", "get/8.ods", "get/9.pdf", "shell.php.bin", "a.zip",
		"old.bin")
	for path, want := range map[string]string{
		"get.php@id=7.pdf": "report 7.pdf",
		"get/8.ods":        "café.ods",
		"get/9.pdf":        "nine.exe",
		"shell.php.bin":    "",
		"a.zip":            "",
		"old.bin":          "",
	} {
		if got := nameOf(t, m, path); got != want {
			t.Errorf("%s is offered as %q, want %q", path, got, want)
		}
	}
	if page := m.Tree()["index.html"]; !strings.Contains(page, "href=get.php@id=7.pdf>") ||
		!strings.Contains(page, "href=get/8.ods>") {
		t.Error(page)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
	// A path that is given stays; the name is noted once.
	old := offered(binary, `attachment; filename="new.img"`, "old")
	old.NoTag = true
	w.Set(home+"/old.bin", old)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := nameOf(t, m, "old.bin"); got != "new.img" {
		t.Errorf("old.bin is offered as %q", got)
	}
	old.Header["Content-Disposition"] = `attachment; filename="at 12:00.img"`
	w.Set(home+"/old.bin", old)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	w.Set(home+"/old.bin", offered(binary, `attachment; filename="new 2.img"`, "changed"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := nameOf(t, m, "old.bin"); got != "new 2.img" {
		t.Errorf("old.bin is offered as %q", got)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}
