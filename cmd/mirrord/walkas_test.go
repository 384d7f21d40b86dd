// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

// walkAs makes a walk, which is a test of its own, in a process with other rights.
func walkAs(t *testing.T, walk string, rights *syscall.SysProcAttr) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	base, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	bin, tmp := filepath.Join(base, "walk"), filepath.Join(base, "tmp")
	err = errors.Join(os.Chmod(base, 0o755), os.Mkdir(tmp, 0o755), linkOrCopy(os.Args[0], bin))
	if c := rights.Credential; c != nil && err == nil {
		err = os.Chown(tmp, int(c.Uid), int(c.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run=^"+walk+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + tmp, "TMPDIR=" + tmp, "MIRRORD_WALK=1"}
	cmd.SysProcAttr = rights
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skipf("this machine allows no process with other rights: %v", err)
	case err != nil:
		t.Errorf("%v:\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case !strings.Contains(string(out), "--- PASS: "+walk):
		t.Errorf("%s was not made:\n%s", walk, out)
	}
}

// isWalk skips a test that only walkAs makes.
func isWalk(t *testing.T) {
	t.Helper()
	if os.Getenv("MIRRORD_WALK") == "" {
		t.Skip("made by TestRemediesAreWalked")
	}
}

// walkPermission takes a mirror away from the user of the daemon: with a process that may give files to root,
// or, where there is no root, with one that its owner may not read.
func walkPermission(t *testing.T, _ string) {
	if os.Geteuid() != 0 {
		walkDenied(t, func(dir string, denied bool) error {
			if denied {
				return os.Chmod(dir, 0)
			}
			return os.Chmod(dir, 0o755)
		})
		return
	}
	const user = 61236
	walkAs(t, "TestWalkPermission", &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: user, Gid: user},
		AmbientCaps: []uintptr{unix.CAP_CHOWN},
	})
}

func TestWalkPermission(t *testing.T) {
	isWalk(t)
	var all []string // of the mirror, as if root had copied it there
	walkDenied(t, func(dir string, denied bool) error {
		uid := os.Geteuid()
		var err error
		if denied {
			uid = 0
			note := func(path string, _ os.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // the daemon has just renamed it
				}
				all = append(all, path)
				return err
			}
			err = errors.Join(os.Chmod(dir, 0o700), filepath.WalkDir(dir, note))
		}
		slices.Reverse(all) // files are reachable as long as their folder is
		for _, path := range all {
			if cerr := os.Lchown(path, uid, uid); !errors.Is(cerr, fs.ErrNotExist) {
				err = errors.Join(err, cerr)
			}
		}
		return err
	})
}

// walkDenied denies a mirror to the daemon, and gives it back as the remedy says.
func walkDenied(t *testing.T, deny func(dir string, denied bool) error) {
	w := newWalk(t, "permission denied")
	w.job(w.site.URL + "/")
	w.run(cli.ExitOK)
	dir := filepath.Join(w.d.state, "sites", w.name)
	if err := deny(dir, true); err != nil {
		t.Fatal(err)
	}
	w.run(cli.ExitError)
	w.shown("give the state directory to the daemon's user (sudo chown -R)")
	if err := deny(dir, false); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

// TestWalkFullDisk has a file system of its own, which takes a small mirror and not a large one.
func TestWalkFullDisk(t *testing.T) {
	isWalk(t)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("this machine allows no mounts: %v", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH)
	w := newWalkIn(t, "", disk)
	var large http.HandlerFunc = func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".bin") {
			if page(rw, r); r.URL.Path == "/" {
				io.WriteString(rw, "<a href=large.bin>x</a>")
			}
		} else {
			rw.Header().Set("Content-Type", "application/octet-stream")
			for range 30 {
				io.WriteString(rw, strings.Repeat("0123456789abcdef", 1<<16))
			}
		}
	}
	w.answers(large)
	w.job(w.site.URL+"/", `limits.min_free = "0"`)
	w.run(cli.ExitPartial)
	if w.shown("free some space (mirrord gc)"); w.was.Last.Cause != status.DiskFull {
		t.Errorf("%+v", w.was.Last)
	}
	w.do(cli.ExitOK, "gc")
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, "size=240m"); err != nil {
		t.Fatal(err)
	}
	w.gone()
}

// What root finds among the mirrors of another user is kept in files of that user.
func TestReplicasOfRoot(t *testing.T) {
	walkAs(t, "TestWalkReplicasOfRoot", &syscall.SysProcAttr{})
}

func TestWalkReplicasOfRoot(t *testing.T) {
	isWalk(t)
	state, err := os.MkdirTemp("", "state") // walkAs removes it: this process is no longer root at its end
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(page))
	defer site.Close()
	put(t, state, "j.toml", "url = \""+site.URL+"/\"\n")
	do := func(command string) {
		t.Helper()
		code, _, errs := runArgs(t, nil, append(strings.Fields(command), "--state", state, "--jobs", state)...)
		if code != cli.ExitOK {
			t.Fatal(command, errs)
		}
	}
	do("run-now j")
	// The folder is that of walkAs.
	err = filepath.WalkDir(os.TempDir(), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 61236, 61236))
	})
	if err != nil {
		t.Fatal(err)
	}
	do("replicas")
	err = filepath.WalkDir(state, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err == nil && fi.Sys().(*syscall.Stat_t).Uid == 0 {
			t.Errorf("%s belongs to root", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
