// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/job"
)

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, d *Dir) map[string]File {
	t.Helper()
	files, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]File{}
	for _, f := range files {
		out[f.Name] = f
	}
	return out
}

const goodJob = "url = \"https://www.example.org/\"\n"

// What cannot be a job file from a user in charge is refused with the reason, and nothing
// waits for it.
func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good.toml", goodJob)
	write(t, dir, "README", "no job")
	write(t, dir, "_aside.toml", "rubbish")
	write(t, dir, ".hidden.toml", "rubbish")
	if err := os.Mkdir(filepath.Join(dir, "folder.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "bad.toml", "ulr = \"https://www.example.org/\"\n")
	write(t, dir, "Upper.toml", goodJob)
	if err := os.WriteFile(filepath.Join(dir, "big.toml"), bytes.Repeat([]byte("# no job\n"), 10<<20/9),
		0o644); err != nil {
		t.Fatal(err)
	}
	open := write(t, dir, "open.toml", goodJob)
	if err := os.Chmod(open, 0o646); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(good, filepath.Join(dir, "link.toml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	secret := write(t, dir, "secret.toml", goodJob)
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"good": "", "bad": `unknown key "ulr"; did you mean "url"?`,
		"Upper": "cannot name a job", "big": "at most 1048576", "open": "anybody may write it (mode 0646)",
		"link": "", "pipe": "is no ordinary file", "folder": "is a directory",
		"secret": "permission denied"}
	if os.Geteuid() == 0 {
		want["secret"] = "" // root may read everything
	}
	got := read(t, NewDir(dir))
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	for name, why := range want {
		err := got[name].Err
		if (why == "" && err != nil) || (why != "" && (err == nil || !strings.Contains(err.Error(), why))) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
		j, err := NewDir(dir).ReadFile(filepath.Join(dir, name+Suffix))
		if (why == "" && err != nil) ||
			(why != "" && (j != nil || err == nil || !strings.Contains(err.Error(), why))) {
			t.Errorf("ReadFile %s: %v, want %q", name, err, why)
		}
	}
	if _, err := NewDir(dir).ReadFile(filepath.Join(dir, "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := NewDir(dir).ReadFile(filepath.Join(dir, "README")); err == nil {
		t.Error("README is a job file")
	}
}

func TestRefusedDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewDir(filepath.Join(dir, "none")).Read(); err == nil ||
		!strings.Contains(err.Error(), "create it or set --jobs") {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDir(dir).Read(); err == nil || !strings.Contains(err.Error(), "anybody may write into") {
		t.Errorf("world-writable directory: %v", err)
	}
}

// A file that becomes something else while the daemon runs leaves the last good version in force.
func TestSwappedFile(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"symbolic link": func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/etc/passwd", p)) },
		"pipe":          func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o644)) },
		"nonsense":      func(p string) error { return os.WriteFile(p, []byte("\x00\xff"), 0o644) },
		"10 MB":         func(p string) error { return os.WriteFile(p, make([]byte, 10<<20), 0o644) },
		"writable":      func(p string) error { return os.Chmod(p, 0o666) },
		"empty":         func(p string) error { return os.WriteFile(p, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := write(t, dir, "a.toml", goodJob)
			d := NewDir(dir)
			files, err := d.Read()
			if err != nil {
				t.Fatal(err)
			}
			before := Resolve(files, nil)
			if err := swap(p); err != nil {
				t.Fatal(err)
			}
			files, err = d.Read()
			if err != nil {
				t.Fatal(err)
			}
			after := Resolve(files, before)
			if e := after["a"]; e == nil || e.Job != before["a"].Job || len(e.Refused) == 0 ||
				!strings.Contains(e.Refused[0], p) {
				t.Errorf("got %+v", e)
			}
			if ch := Diff(before, after); len(ch) != 1 || ch[0].Kind != Refused {
				t.Errorf("changes %v", ch)
			}
			if err := errors.Join(os.Remove(p), os.WriteFile(p, []byte(goodJob), 0o644)); err != nil {
				t.Fatal(err)
			}
			files, err = d.Read()
			if err != nil {
				t.Fatal(err)
			}
			if ch := Diff(after, Resolve(files, after)); len(ch) != 1 || ch[0].Kind != Corrected {
				t.Errorf("changes %v", ch)
			}
		})
	}
}

// Files are read again when they changed, and only then.
func TestReadAgain(t *testing.T) {
	dir := t.TempDir()
	p := write(t, dir, "a.toml", goodJob)
	old := time.Now().Add(-time.Hour)
	d := NewDir(dir)
	first := read(t, d)["a"]
	if again := read(t, d)["a"]; again.Job != first.Job {
		t.Error("parsed again without a change")
	}
	// Same size and times: only the content tells.
	other := strings.Replace(goodJob, "www", "ftp", 1)
	if err := errors.Join(os.WriteFile(p, []byte(other), 0o644), os.Chtimes(p, old, old)); err != nil {
		t.Fatal(err)
	}
	if again := read(t, d)["a"]; again.Job == first.Job || again.Job.URLs[0] != "https://ftp.example.org/" {
		t.Error("the change was not seen")
	}
}

func parsed(t testing.TB, name, text string) File {
	t.Helper()
	j, err := job.Parse(name, name+Suffix, []byte(text))
	return File{
		Name: name,
		Path: name + Suffix,
		Text: []byte(text),
		Job:  j,
		Err:  err,
	}
}

func TestDiff(t *testing.T) {
	const a, b, c = "url = \"https://a.example/\"", "url = \"https://b.example/\"",
		"url = \"https://c.example/\""
	base := Resolve([]File{parsed(t, "a", a), parsed(t, "b", b)}, nil)
	for _, tc := range []struct {
		name  string
		files []File
		want  string
	}{
		{"nothing", []File{parsed(t, "a", a), parsed(t, "b", b)}, ""},
		{"added", []File{parsed(t, "a", a), parsed(t, "b", b), parsed(t, "c", c)}, "added c"},
		{"changed", []File{parsed(t, "a", a+"\ntitle = \"x\""), parsed(t, "b", b)}, "changed a"},
		{"removed", []File{parsed(t, "b", b)}, "removed a"},
		{"broken", []File{parsed(t, "a", "x = 1"), parsed(t, "b", b)}, "refused a"},
		{"new and broken", []File{parsed(t, "a", a), parsed(t, "b", b), parsed(t, "c", "x = 1")}, "refused c"},
		{"renamed", []File{parsed(t, "b", b), parsed(t, "d", a)}, "removed a, added d"},
		{"all at once", []File{parsed(t, "a", "x = 1"), parsed(t, "b", c), parsed(t, "c", b)},
			"refused a, changed b, added c"},
		{"same name", []File{parsed(t, "a", a), parsed(t, "a", c), parsed(t, "b", b)}, "refused a"},
		{"same site", []File{parsed(t, "a", a), parsed(t, "aa", b), parsed(t, "b", b)}, "refused aa"},
		{"same site, new before old", []File{parsed(t, "0", a), parsed(t, "a", a), parsed(t, "b", b)}, "refused 0"},
		{"changed into a copy of another", []File{parsed(t, "a", b), parsed(t, "b", b)}, "refused a"},
		{"same place", []File{parsed(t, "a", a+"\npublish.dir = \"/srv/www\""),
			parsed(t, "b", b+"\npublish.dir = \"/srv/www/\"")}, "changed a, refused b"},
		{"same url, other scope",
			[]File{parsed(t, "a", a), parsed(t, "b", b), parsed(t, "c", a+"\nscope = [\"https://a.example/docs/\"]")},
			"added c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next := Resolve(tc.files, base)
			var got []string
			for _, ch := range Diff(base, next) {
				got = append(got, fmt.Sprintf("%s %s", ch.Kind, ch.Job))
				if (ch.Kind == Refused) != (len(ch.Problems) > 0) {
					t.Errorf("%v", ch)
				}
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("got %q, want %q", s, tc.want)
			}
			for name, e := range next {
				if base[name] != nil && e.Job == nil {
					t.Errorf("%s has lost its good version", name)
				}
			}
			if ch := Diff(next, Resolve(tc.files, next)); len(ch) != 0 {
				t.Errorf("the same files again: %v", ch)
			}
		})
	}
}

// A thousand jobs: what a reload costs when nothing, one file or everything has changed.
func BenchmarkReload(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		write(b, dir, fmt.Sprintf("job%d.toml", i),
			fmt.Sprintf("url = \"https://site%d.example/\"\nschedule = \"%d 3 * * *\"\n[polite]\ndelay = \"1s\"\n", i,
				i%60))
	}
	s, err := New(Options{Runner: &fakeRunner{}, Store: newMemory()})
	if err != nil {
		b.Fatal(err)
	}
	load := func(b *testing.B, d *Dir) {
		files, err := d.Read()
		if err != nil {
			b.Fatal(err)
		}
		s.Apply(Resolve(files, s.Config()))
	}
	b.Run("start", func(b *testing.B) {
		used := cpu(b)
		for b.Loop() {
			load(b, NewDir(dir))
		}
		b.ReportMetric(float64((cpu(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	d := NewDir(dir)
	load(b, d)
	b.Run("nothing", func(b *testing.B) {
		used := cpu(b)
		for b.Loop() {
			load(b, d)
		}
		b.ReportMetric(float64((cpu(b)-used).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			write(b, dir, "job7.toml", fmt.Sprintf("url = \"https://site7.example/\"\ntitle = \"%d\"\n", i))
			load(b, d)
		}
	})
}

// A job whose rename was interrupted is refused under its old name, and its last good version does not stay
// in force: its mirror may have the new name already.
func TestDirRenaming(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "a"+Suffix)
	if err := os.WriteFile(file, []byte("url = \"http://a.example/\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := NewDir(path)
	read := func() Config {
		t.Helper()
		files, err := d.Read()
		if err != nil {
			t.Fatal(err)
		}
		return Resolve(files, nil)
	}
	last := read()
	if e := last["a"]; e == nil || e.Job == nil {
		t.Fatalf("%+v", e)
	}
	r := &Renaming{From: "a", To: "b"}
	if err := os.Rename(file, filepath.Join(path, r.AsideName())); err != nil {
		t.Fatal(err)
	}
	files, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	e := Resolve(files, last)["a"]
	if e == nil || e.Job != nil || len(e.Refused) != 1 || !strings.Contains(e.Refused[0], "mirrord rename a b") {
		t.Errorf("%+v", e)
	}
	for _, name := range []string{"a", "b"} {
		if got := RenamingIn([]string{path}, name); got == nil || *got != *r {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := RenamingIn([]string{path}, "c"); got != nil {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(file, []byte("url = \"http://c.example/\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if e := read()["a"]; e.Job == nil || len(e.Refused) > 0 {
		t.Errorf("a new job of the old name: %+v", e)
	}
}
