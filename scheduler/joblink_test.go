// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linkedRig is a jobs directory beside a folder with the files that its links lead to.
type linkedRig struct {
	t                *testing.T
	jobs, away, file string
}

func newLinkedRig(t *testing.T) *linkedRig {
	dir := t.TempDir()
	r := &linkedRig{
		t:    t,
		jobs: filepath.Join(dir, "jobs"),
		away: filepath.Join(dir, "stow", "mirrord"),
	}
	if err := errors.Join(os.Mkdir(r.jobs, 0o755), os.MkdirAll(r.away, 0o755)); err != nil {
		t.Fatal(err)
	}
	r.file = write(t, r.away, "a.toml", goodJob)
	r.link(r.file, "a.toml")
	return r
}

func (r *linkedRig) link(to, name string) {
	r.t.Helper()
	if err := os.Symlink(to, filepath.Join(r.jobs, name)); err != nil {
		r.t.Fatal(err)
	}
}

// Job files that are symbolic links are taken when only root, the user of the daemon and the owner of the
// jobs directory can change what they lead to.
func TestLinkedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make func(r *linkedRig) error
		want string // "": it is taken
	}{
		"absolute": {},
		"relative": {make: func(r *linkedRig) error {
			os.Remove(filepath.Join(r.jobs, "a.toml"))
			return os.Symlink("../stow/./mirrord//a.toml", filepath.Join(r.jobs, "a.toml"))
		}},
		"folder linked": {make: func(r *linkedRig) error {
			return errors.Join(os.Rename(r.away, r.away+".1"), os.Symlink("mirrord.1", r.away))
		}},
		"link to link": {make: func(r *linkedRig) error {
			return errors.Join(os.Rename(r.file, r.file+".1"), os.Symlink("a.toml.1", r.file))
		}},
		"sticky folder": {make: func(r *linkedRig) error { return os.Chmod(r.away, 0o777|os.ModeSticky) }},
		"file that anybody may write": {
			make: func(r *linkedRig) error { return os.Chmod(r.file, 0o666) },
			want: "anybody may write it (mode 0666)",
		},
		"folder into which anybody may write": {
			make: func(r *linkedRig) error { return os.Chmod(r.away, 0o777) },
			want: "stow/mirrord (mode 0777)",
		},
		"such a folder further up": {
			make: func(r *linkedRig) error { return os.Chmod(filepath.Dir(r.away), 0o777) },
			want: "stow (mode 0777)",
		},
		"loop": {
			make: func(r *linkedRig) error { return errors.Join(os.Remove(r.file), os.Symlink("a.toml", r.file)) },
			want: "too many levels",
		},
		"no file": {
			make: func(r *linkedRig) error { return os.Remove(r.file) },
			want: "and there is no such file",
		},
		"a folder": {
			make: func(r *linkedRig) error { return errors.Join(os.Remove(r.file), os.Mkdir(r.file, 0o755)) },
			want: "is a directory",
		},
		"a file in a file": {
			make: func(r *linkedRig) error {
				return errors.Join(os.RemoveAll(r.away), os.WriteFile(r.away, nil, 0o644))
			},
			want: "not a directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLinkedRig(t)
			if c.make != nil {
				if err := c.make(r); err != nil {
					t.Fatal(err)
				}
			}
			f := read(t, NewDir(r.jobs))["a"]
			if (c.want == "") != (f.Job != nil) || (c.want != "" && !strings.Contains(f.Err.Error(), c.want)) {
				t.Errorf("%v, want %q", f.Err, c.want)
			}
			_, err := NewDir(r.jobs).ReadFile(filepath.Join(r.jobs, "a.toml"))
			if (c.want == "") != (err == nil) || (c.want != "" && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("ReadFile: %v, want %q", err, c.want)
			}
		})
	}
}

// The target of a link must belong to a user who may say what the daemon does.
func TestLinkedFilesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for name, at := range map[string]func(r *linkedRig) string{
		"file":   func(r *linkedRig) string { return r.file },
		"folder": func(r *linkedRig) string { return r.away },
		"above":  func(r *linkedRig) string { return filepath.Dir(r.away) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newLinkedRig(t)
			if err := os.Chown(at(r), 12345, 12345); err != nil {
				t.Fatal(err)
			}
			want := at(r) + " belongs to the user with the number 12345"
			if f := read(t, NewDir(r.jobs))["a"]; f.Err == nil || !strings.Contains(f.Err.Error(), want) {
				t.Errorf("%v, want %s", f.Err, want)
			}
			if err := os.Chown(r.jobs, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			if f := read(t, NewDir(r.jobs))["a"]; f.Err != nil {
				t.Errorf("of the owner of the jobs directory: %v", f.Err)
			}
		})
	}
}

// A ConfigMap is a folder behind a link, and a new version of it another folder: what it says is taken in,
// and a folder that is missing for a moment removes no job.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), "samba.toml", text)
		aside := filepath.Join(dir, "..data_tmp")
		if err := errors.Join(os.Symlink(name, aside), os.Rename(aside, filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	version("..2026_01", goodJob)
	if err := os.Symlink("..data/samba.toml", filepath.Join(dir, "samba.toml")); err != nil {
		t.Fatal(err)
	}
	d := NewDir(dir)
	first := read(t, d)
	if len(first) != 1 || first["samba"].Job == nil {
		t.Fatalf("%+v", first)
	}
	version("..2026_02", goodJob+"title = \"second\"\n")
	if f := read(t, d)["samba"]; f.Job == nil || f.Job.Title != "second" {
		t.Errorf("%+v", f)
	}
	if err := os.RemoveAll(filepath.Join(dir, "..2026_02")); err != nil {
		t.Fatal(err)
	}
	if f, is := read(t, d)["samba"]; !is || f.Err == nil {
		t.Errorf("%v %+v", is, f)
	}
	if err := os.Remove(filepath.Join(dir, "samba.toml")); err != nil {
		t.Fatal(err)
	}
	if all := read(t, d); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
