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

	"golang.org/x/sys/unix"
)

// longest is how many bytes the address of a Unix socket may have, with room for its end (sun_path of unix(7) has 108).
const longest = 104

// Listen makes a socket at a path, with a file mode that says who may connect: who may write. A socket that a dead daemon left there is replaced; the caller has made sure that
// no other daemon lives.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	fi, err := os.Lstat(path)
	switch {
	case err == nil && fi.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("listen on %s: it is there and is no socket", path)
	case err == nil:
		err = os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	var l net.Listener
	err = short(path, func(addr string) (err error) {
		l, err = net.Listen("unix", addr)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the address may be another name of the path
	if err := os.Chmod(path, mode.Perm()); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
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
