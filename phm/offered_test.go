// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"strings"
	"testing"

	"mirrord/site"
)

func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{
		"":                     "",
		"report 7.pdf":         "report 7.pdf",
		"../../etc/passwd":     "passwd",
		`C:\Users\x\a.doc`:     "a.doc",
		"/":                    "",
		"..":                   "",
		" .hidden. ":           "hidden",
		"a\x00b\nc.txt":        "abc.txt",
		"a:b*c?.txt":           "a_b_c_.txt",
		"100%.pdf":             "100_.pdf",
		"invoice\u202efdp.exe": "invoicefdp.exe",
		"cafe\u0301.txt":       "café.txt",
		"aux.txt":              "%61ux.txt",
		"phm.files":            "%70hm.files",
		"\xff.txt":             "txt",
	} {
		got := SafeName(name)
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if got != "" && CheckPath(got) != nil {
			t.Errorf("%q: %v", got, CheckPath(got))
		}
	}
	long := SafeName(strings.Repeat("é", 300) + ".tar")
	if len(long) > MaxSegment || !strings.HasSuffix(long, ".tar") || CheckPath(long) != nil {
		t.Errorf("%d bytes, %q", len(long), long)
	}
}

func FuzzSafeName(f *testing.F) {
	f.Add("a.txt")
	f.Add("..\\con.")
	f.Add("%2e\u0301")
	f.Fuzz(func(t *testing.T, name string) {
		if s := SafeName(name); s != "" && CheckPath(s) != nil {
			t.Errorf("%q: %q: %v", name, s, CheckPath(s))
		}
	})
}

// The name under which a file is offered gives it an extension when its type says nothing of it.
func TestOfferedName(t *testing.T) {
	const binary = "application/octet-stream"
	for _, tt := range []struct{ url, mime, offered, want string }{
		{"download.php?id=7", binary, "report.pdf", "download.php@id=7.pdf"},
		{"download.php?id=7", binary, "", "download.php@id=7.bin"},
		{"download.php?id=7", "", "data.csv", "download.php@id=7.csv"},
		{"download.php?id=7", binary, "shell.php", "download.php@id=7.bin"},
		{"download.php?id=7", binary, "shell.PHTML", "download.php@id=7.bin"},
		{"download.php?id=7", binary, "page.html", "download.php@id=7.bin"},
		{"download.php?id=7", binary, "none", "download.php@id=7.bin"},
		{"get/7", binary, "page.svg", "get/7"},
		{"get/7", binary, "setup.exe", "get/7.exe"},
		{"get/", binary, "setup.exe", "get/index.exe"},
		{"get/v1.2", "application/x-own", "v1.2.deb", "get/v1.2.deb"},
		{"disk.ISO", binary, "disk.iso", "disk.ISO"},
		{"get.do?x", binary, "a.zip", "get.do@x.zip"},
		{"download.php?id=7", "application/pdf", "report.zip", "download.php@id=7.pdf"},
		{"notes", "text/plain", "notes.pdf", "notes"},
	} {
		n := NewNamer(Layout{Primary: "https://h.example"}, 1)
		u := site.Canonical("https://h.example/" + tt.url)
		if got := n.Assign(u, tt.mime, tt.offered); got != tt.want || CheckPath(got) != nil {
			t.Errorf("%s as %s, offered as %q: %s, want %s", tt.url, tt.mime, tt.offered, got, tt.want)
		}
	}
	n := NewNamer(Layout{Primary: "https://h.example"}, 2)
	first := n.Assign(site.Canonical("https://h.example/get/7.pdf"), "application/pdf", "")
	second := n.Assign(site.Canonical("https://h.example/get/7"), binary, "a.pdf")
	if first != "get/7.pdf" || !strings.HasPrefix(second, "get/7~") || !strings.HasSuffix(second, ".pdf") {
		t.Errorf("%s, %s", first, second)
	}
}
