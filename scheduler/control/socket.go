// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// longest is how many bytes the address of a Unix socket may have, including its end (sun_path of unix(7)
// has 108).
const longest = 104

// Listen makes a socket at a path, with a file mode that says who may connect: who may write. A socket that a
// dead daemon left there is replaced; one behind which a process answers is not.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	fi, err := os.Lstat(path)
	switch {
	case err == nil && fi.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("listen on %s: it is there and is no socket", path)
	case err == nil && lives(path):
		return nil,
			fmt.Errorf("listen on %s: another program answers there; name another socket in daemon.toml", path)
	case err == nil:
		err = os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l, err := bind(path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)       // the address may be another name of the path
	if err := os.Chmod(path, mode.Perm()); err != nil { // what the umask took
		l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// bind makes a socket that has at most its mode from the first moment on: Linux gives the file the mode of
// the descriptor, less the umask.
func bind(path string, mode fs.FileMode) (l net.Listener, err error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var merr error
		err := c.Control(func(fd uintptr) { merr = unix.Fchmod(int(fd), uint32(mode.Perm())) })
		return errors.Join(err, merr)
	}}
	err = short(path, func(addr string) (err error) {
		l, err = lc.Listen(context.Background(), "unix", addr)
		return err
	})
	return l, err
}

// lives reports whether a process answers at a socket.
func lives(path string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := dial(ctx, path)
	if err != nil {
		// a queue that is full, or no permission: the socket of another process
		return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist)
	}
	conn.Close()
	return true
}

func dial(ctx context.Context, path string) (conn net.Conn, err error) {
	err = short(path, func(addr string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", addr)
		return err
	})
	return conn, err
}

// short calls f with an address for a path. One that is too long is named through its folder.
func short(path string, f func(addr string) error) error {
	if len(path) <= longest {
		return f(path)
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f("/proc/self/fd/" + strconv.Itoa(fd) + "/" + filepath.Base(path))
}
