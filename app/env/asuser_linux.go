// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// AsUser calls f with the rights of a user on files, on a thread of its own that ends with the call.
// Without root the user cannot be changed: f is called directly. f must not leave its goroutine.
func AsUser(u FileOwner, f func()) error {
	if os.Geteuid() != 0 || u.UID == 0 {
		f()
		return nil
	}
	done := make(chan error)
	go func() {
		// The thread is never unlocked, so that it ends with the goroutine. Of the calls that change who it is only
		// these concern one thread: Setresuid would change all.
		runtime.LockOSThread()
		err := unix.Setgroups(u.Groups)
		if err == nil {
			err = unix.Setfsgid(u.GID)
		}
		if err == nil {
			err = unix.Setfsuid(u.UID)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("act as user %s: %w", u, err)
	}
	return nil
}

// MayWrite returns an error unless a file can be made in a directory with the rights of this thread.
func MayWrite(dir string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}

// MayRun returns an error unless a file can be executed with the rights of this thread.
func MayRun(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "execute", Path: path, Err: err}
	}
	return nil
}

// ReadOnlyAt reports whether the file system of a path is mounted read-only.
func ReadOnlyAt(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}
