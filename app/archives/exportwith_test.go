// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/phm"
	"mirrord/testing/apptest"
)

// program writes a script.
func program(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// Programs of the user change a copy, one after the other; the archive says which, and is whole.
func TestExportWith(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	out := filepath.Join(t.TempDir(), "out")
	x, err := Export(t.Context(), a, ExportRequest{
		Job: "site",
		Out: out,
		With: []string{
			program(t, "first", `echo "$2, $1" >>same.html`) + " one two,three",
			program(t, "second", `sed 's/three/four/' same.html >$TMPDIR/x && cat $TMPDIR/x >same.html`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "same.html"))
	if err != nil || !strings.HasSuffix(string(page), "two,four, one\n") {
		t.Errorf("%q, %v", page, err)
	}
	tree := os.DirFS(out)
	report, err := phm.Verify(tree, phm.VerifyOptions{})
	if err != nil || report.Err() != nil || report.Files != x.Files {
		t.Errorf("%+v, %v", report, err)
	}
	if got := string(report.Meta.Extra[withField]); !strings.Contains(got, `"first"`) ||
		strings.Index(got, `"first"`) > strings.Index(got, `"second"`) {
		t.Errorf("phm.json names %s", got)
	}
	table, err := os.Open(filepath.Join(out, phm.FilesName))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err != nil {
			t.Fatal(err)
		}
		kinds := ""
		for _, e := range f.Edits {
			if strings.HasPrefix(e.Kind, "with:") {
				kinds += e.Kind + " "
			}
		}
		if want := map[string]string{"same.html": "with:first with:second "}[f.Path]; kinds != want {
			t.Errorf("%s: edits %q, want %q", f.Path, kinds, want)
		}
	}
}

// A program that fails, or leaves a mirror that is not whole, leaves no archive and nothing aside; it changes
// no files but those of the copy.
func TestExportWithBad(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	out := filepath.Join(dir, "x.phm")
	cases := map[string]struct{ text, want string }{
		"fails":     {"echo why >&2; exit 3", "why"},
		"link":      {`echo '<a href="none.html">x</a>' >>same.html`, "none.html"},
		"removes":   {"rm i.png", "i.png"},
		"adds":      {"echo x >more.html", "more.html"},
		"list":      {"echo >>phm.files", "only read"},
		"links out": {"rm i.png && ln -s /etc/passwd i.png", "i.png"},
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1); errno == 0 {
		cases["elsewhere"] = struct{ text, want string }{"echo x >" + other + " && echo written; exit 1", "exit"}
	} else {
		t.Log("this kernel has no Landlock")
	}
	for name, c := range cases {
		_, err := Export(t.Context(), a, ExportRequest{
			Job:  "site",
			Out:  out,
			With: []string{program(t, "p", c.text)},
		})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "with p") ||
			strings.Contains(err.Error(), "written") {
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := os.ReadDir(dir)
	if _, serr := os.Stat(other); err != nil || len(left) > 0 || serr == nil {
		t.Errorf("left: %v, %v, %v", left, err, serr)
	}
	for form, with := range map[string]string{"warc": "true", "phm": filepath.Join(dir, "none"), "zim": " "} {
		x := ExportRequest{Job: "site", Out: out}
		x.Format, x.With = form, []string{with}
		if _, err := Export(t.Context(), a, x); err == nil {
			t.Errorf("%s with %q: no error", form, with)
		}
	}
}

// The examples do what they say.
func TestExportWithExamples(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	examples, err := filepath.Abs("../../packaging/examples")
	if err != nil {
		t.Fatal(err)
	}
	with := []string{examples + "/watermark A copy", examples + "/charset ISO-8859-1"}
	if _, err := exec.LookPath("convert"); err == nil {
		with = append(with, examples+"/smaller-pictures 640")
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: out, With: with}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "same.html"))
	if err != nil || !strings.Contains(string(page), ">A copy</p>") ||
		!strings.Contains(string(page), "ISO-8859-1") {
		t.Errorf("%q, %v", page, err)
	}
}
