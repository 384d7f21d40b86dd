// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/mirror/finish"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/testing/apptest"
)

// Not everybody may lock the file that says who owns the state: else anybody could keep the daemon from
// starting.
func TestLockFileMode(t *testing.T) {
	dir := t.TempDir()
	apptest.Put(t, dir, env.LockFile, "{}") // as an older version left it, readable by all
	for socket, want := range map[fs.FileMode]fs.FileMode{0o660: 0o640, 0o600: 0o600, 0o666: 0o644} {
		f, err := env.TakeState(dir, env.Owner{PID: os.Getpid(), Socket: "s"}, socket)
		if err != nil {
			t.Fatal(err)
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("mode %o for a socket of %o, want %o", got, socket, want)
		}
		f.Close()
	}
}

// A run by hand reads the jobs directory again. A file of another job that is gone for a moment just then,
// while an editor replaces it, is not a job that was removed.
func TestRunWhileFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	text := "url = \"https://%s.example/\"\n"
	apptest.Put(t, dir, "edited.toml", fmt.Sprintf(text, "edited"))
	apptest.Put(t, dir, "other.toml", fmt.Sprintf(text, "other"))
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		sched, err := scheduler.New(scheduler.Options{Store: look.NoRecords{}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		d := &Daemon{
			Scheduler: sched,
			Log:       log,
			Files:     &JobFiles{scheduler: sched, dir: scheduler.NewDir(dir)},
		}
		if _, err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		if err := d.Pause("edited"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "edited.toml"), filepath.Join(dir, "edited.toml~")); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(500 * time.Millisecond)
			apptest.Put(t, dir, "edited.toml", fmt.Sprintf(text, "edited"))
		})
		if _, _, err := d.Run("other", control.RunRequest{}); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if _, err := d.Reload(); err != nil {
			t.Fatal(err)
		}
		if j, err := d.Scheduler.Job("edited"); err != nil || j.Activity != status.Paused {
			t.Errorf("%+v, %v: forgotten that it is paused", j, err)
		}
	})
}

// A jobs directory that does not exist is no trouble before there is a job, which makes it, and is one once
// it had some.
func TestJobsDirectoryIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs.d")
	synctest.Test(t, func(t *testing.T) {
		sched, err := scheduler.New(scheduler.Options{
			Store: look.NoRecords{},
			Log:   slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		files := &JobFiles{scheduler: sched, dir: scheduler.NewDir(dir)}
		if _, err := files.load(nil); !errors.Is(err, os.ErrNotExist) || sched.Status().Daemon.Problem != "" {
			t.Errorf("%v: %q before there is a job", err, sched.Status().Daemon.Problem)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		apptest.Put(t, dir, "a.toml", "url = \"https://a.example/\"\n")
		if _, err := files.load(nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir, dir+"~"); err != nil {
			t.Fatal(err)
		}
		if _, err := files.load(nil); err == nil || sched.Status().Daemon.Problem == "" {
			t.Errorf("%v: a directory that went is no problem", err)
		}
	})
}

// Everything in a mirror has been looked at since its oldest response; URLs that are broken, or not in it,
// do not count.
func TestVerifiedSince(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if since, err := finish.VerifiedSince(s); err != nil || !since.IsZero() {
		t.Errorf("nothing in it: %v, %v", since, err)
	}
	if err := s.Notes.BeginRun(&record.Run{Fingerprint: "x"}); err != nil {
		t.Fatal(err)
	}
	var news []record.NewURL
	var done []*record.Done
	for i, r := range []record.Resource{
		{
			InSet:   true,
			Checked: 500,
		}, {InSet: true, Checked: 300, Failures: 2}, {InSet: true, Checked: 100, Failures: 3}, {Checked: 50},
		{InSet: true},
	} {
		u, _, err := site.Parse(fmt.Sprintf("https://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		r.ID, r.URL, r.Outcome, r.Run = uint32(i), u, site.Fetched, 1
		news, done = append(news, record.NewURL{URL: u.String()}), append(done, &record.Done{Resource: r})
	}
	if err := s.Records.Commit(0, news, done); err != nil {
		t.Fatal(err)
	}
	if err := s.Records.Fold(facts.Folding{
		Version: 1,
		Pending: func(uint32) bool { return false },
		Path:    func(*record.Resource) string { return "" },
	}); err != nil {
		t.Fatal(err)
	}
	if since, err := finish.VerifiedSince(s); err != nil || since.Unix() != 300 {
		t.Errorf("%v, %v", since.Unix(), err)
	}
}

// A full disk is distinguished from one that fails.
func TestNoRoom(t *testing.T) {
	for want, errs := range map[bool][]error{
		true: {&disk.DiskError{
			Op:  "write",
			Err: &os.PathError{Op: "write", Err: syscall.ENOSPC},
		}, fmt.Errorf("x: %w", syscall.EDQUOT)},
		false: {nil, &disk.DiskError{Op: "write", Err: syscall.EIO}, disk.ErrLocked},
	} {
		for _, err := range errs {
			if disk.IsFull(err) != want {
				t.Errorf("%v: %v", err, !want)
			}
		}
	}
}
