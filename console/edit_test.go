// SPDX-License-Identifier: Apache-2.0

package console

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/scheduler/status"
)

// newEditor is an operator whose one job, site, has a file with a text.
func newEditor(t *testing.T, text string) (b *browser, file string) {
	t.Helper()
	dir, state := t.TempDir(), t.TempDir()
	file = filepath.Join(dir, "site.toml")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	b = newBrowser(t, func(o *Options) {
		o.App = &env.App{
			State:     func() (string, error) { return state, nil },
			Jobs:      dir,
			Log:       slog.New(slog.DiscardHandler),
			LookupEnv: func(string) (string, bool) { return "", false },
		}
	})
	b.daemon.jobs = []status.Job{{Name: "site", File: file}}
	b.login(Operate)
	return b, file
}

// A job file is changed in an editor: errors at their lines, what changes before it is saved, nothing lost
// when another user was faster, and no command of the machine.
func TestEdit(t *testing.T) {
	const of = "url = \"https://a.example/\"\n"
	const first = of + "# </textarea><script>alert(1)</script>\n[limits]\nmax_depth = 3\n"
	b, file := newEditor(t, first)
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	on := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%v; on the disk is %q, want %q", err, got, want)
		}
	}
	const at = "/jobs/site/file"
	b.want(http.StatusOK, at, "/jobs/site", nil)
	doc, rendered := parse(t, b.want(http.StatusOK, file, at, nil)), guide{}
	tag, _ := doc.Find("input[name=tag]").Attr("value")
	if got := doc.Find("#text").Text(); got != first || tag == "" || doc.Find("main script").Length() > 0 {
		t.Fatalf("tag %q, text %q", tag, got)
	}
	send := func(do, text string) url.Values {
		return url.Values{"do": {do}, "tag": {tag}, "text": {strings.ReplaceAll(text, "\n", "\r\n")}}
	}
	for text, want := range map[string]string{
		of + "max_dept = 3\n":                                     "line 2: ",
		first + "[hooks]\nafter = \"/bin/sh\"\n":                  `<a href="/help/jobs#hooks.after">hooks.after</a>: names a command`,
		of + "[notify]\ncommand = \"id\"\n":                       `<a href="/help/jobs#notify.command">notify.command</a>: names a command`,
		of + "[auth]\nuser = \"x\"\npassword_file = \"/etc/x\"\n": "names a command, file",
		"": "line",
	} {
		for _, do := range []string{"check", "save"} {
			page := b.want(http.StatusUnprocessableEntity, want, at, send(do, text))
			rendered.helpLinks(t, at, page)
			on(first)
		}
	}
	second := strings.Replace(first, "3", "4", 1)
	doc = parse(t, b.want(http.StatusOK, "What it changes", at, send("check", second)))
	on(first)
	checked, _ := doc.Find("form input[name=text]").Attr("value")
	if doc.Find("table.diff ins").Text() != "4" || strings.ReplaceAll(checked, "\r\n", "\n") != second {
		t.Errorf("changes %q; to be saved is %q", doc.Find("table.diff").Text(), checked)
	}
	b.want(http.StatusSeeOther, "?said=changeFile", at, send("save", checked))
	on(second)
	if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", fi, err)
	}
	if got := strings.Join(b.daemon.did, ";"); got != "reload" {
		t.Errorf("done: %s", got)
	}

	// The tag is that of the first text.
	third := strings.Replace(first, "3", "5", 1)
	doc = parse(t, b.want(http.StatusConflict, "changed on the disk since", at, send("save", third)))
	on(second)
	if got := doc.Find("#text").Text(); strings.ReplaceAll(got, "\r\n", "\n") != third {
		t.Errorf("what was typed is lost: %q", got)
	}
	tag, _ = doc.Find("input[name=tag]").Attr("value")
	b.want(http.StatusSeeOther, "?said=changeFile", at, send("save", third))
	on(third)

	put("url = \n")
	b.want(http.StatusOK, "url = ", at, nil)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	b.want(http.StatusBadRequest, "no job", at, nil)
	if err := os.Symlink("/etc/passwd", file); err != nil {
		t.Fatal(err)
	}
	b.want(http.StatusBadRequest, "symbolic link", at, nil)
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v: something was left beside the file", left, err)
	}
	var log []string
	for _, e := range b.facts.audit[len(b.facts.audit)-3:] {
		log = append(log, e.What+" "+e.Error)
	}
	const change = "change the job file "
	if got := strings.Join(log, "\n"); got != change+"\n"+change+jobs.ErrJobMoved.Error()+"\n"+change {
		t.Errorf("audit log:\n%s", got)
	}
}
