// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mirrord/internal/regular"
	"mirrord/scheduler/control"
	"mirrord/store/db"
)

// LockFile says in the state directory who owns it. The lock is on the file, so that it ends with the
// process, however that ends; its content is only valid while it is locked.
const LockFile = "daemon.lock"

// Owner is the daemon that owns a state directory.
type Owner struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket"`
	Format int    `json:"format"` // that it writes; 0 of a daemon that is older than this field
}

// TakeState locks a state directory for a daemon with a socket of that mode. Closing the file gives it back.
func TakeState(dir string, me Owner, mode fs.FileMode) (*os.File, error) {
	me.Format = db.FormatVersion
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Those look who may command the daemon: who may write to its socket. Every user who may read the file may
	// also hold its lock, and so prevent a daemon from starting.
	if err := f.Chmod(0o600 | mode&0o022<<1); err != nil {
		f.Close()
		return nil, err
	}
	for range 50 { // a command that looks holds it for a moment
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		if by, ok := readOwner(f); ok && by.PID != 0 && alive(by.PID) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		by, _ := readOwner(f)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &Error{
				Kind: Locked,
				Err:  fmt.Errorf("the state %s is owned by the daemon with process id %d", dir, by.PID),
			}
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	data, err := json.Marshal(me)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return f, nil
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func readOwner(f *os.File) (by Owner, ok bool) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<16))
	return by, err == nil && json.Unmarshal(data, &by) == nil
}

// readsWhatIsWritten is an error beside a daemon of an older format: a command that writes a mirror would
// convert it, and the daemon could no longer read it.
func readsWhatIsWritten(dir string) error {
	by, ok, err := DaemonOf(dir)
	if err != nil || !ok || by.Format >= db.FormatVersion {
		return nil // commands that need the daemon report errors of its lock
	}
	return fmt.Errorf("the daemon (process id %d) is of an older version, and could not read what this "+
		"program writes: start it again, with this version: sudo systemctl restart mirrord", by.PID)
}

// activatesWithin is how long a socket that systemd holds may take to accept.
const activatesWithin = time.Second

// DaemonOf returns the daemon that owns a state directory; ok is false when no daemon does.
func DaemonOf(dir string) (by Owner, ok bool, err error) {
	f, err := regular.Open(filepath.Join(dir, LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Owner{}, false, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return Owner{}, false, fmt.Errorf("look for the daemon: %w; the mirrors in %s belong to the daemon: "+
			"run this as root (sudo)%s", err, dir, JoinHint(dir))
	}
	if err != nil {
		return Owner{}, false, err
	}
	defer f.Close()
	for range 50 { // it may have taken the lock this moment
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
		case err == nil:
			return Owner{}, false, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return Owner{}, false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if by, ok := readOwner(f); ok && by.Socket != "" {
			return by, true, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return Owner{}, false, fmt.Errorf("%s is locked by an unknown process", f.Name())
}

// Client returns a client of the daemon that owns the state directory, nil when none does. Where systemd
// listens at Activates, the daemon is started by the first request.
func (a *App) Client() (*control.Client, error) {
	dir, err := a.State()
	if err != nil {
		return nil, err
	}
	by, ok, err := DaemonOf(dir)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return control.NewClient(by.Socket), nil
	case a.Activates == "":
		return nil, nil
	}
	conn, err := net.DialTimeout("unix", a.Activates, activatesWithin)
	if err != nil { // systemd has no such socket, or it is not for this user
		return nil, nil
	}
	return control.NewClient(a.Activates), conn.Close()
}

// ErrSilent says that the daemon has taken a question and does not answer it: it is stopped, or hangs.
var ErrSilent = errors.New(
	"the daemon does not answer; end its process and start it again: sudo systemctl restart mirrord")

// commandWithin is how long the daemon may take to answer before it is given a command. It may just be
// starting.
const commandWithin = 5 * time.Second

// Commander is Client for commands to the daemon. The daemon has answered a question before: a
// command to one that is stopped would hang, and be carried out unexpectedly later.
func (a *App) Commander(ctx context.Context) (*control.Client, error) {
	c, err := a.Client()
	if err != nil || c == nil {
		return nil, err
	}
	within, cancel := context.WithTimeoutCause(ctx, commandWithin, ErrSilent)
	defer cancel()
	// an unhealthy daemon answers too
	if err := c.Health(within); err != nil && errors.Is(context.Cause(within), ErrSilent) {
		return nil, ErrSilent
	}
	return c, nil
}
