// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// sendFile moves what follows in f to w within the kernel, as far as that goes: w is to be a file, a pipe or
// a device. It returns early where that does not work and when ctx has ended; the offset of f is then where
// a copy continues.
func sendFile(ctx context.Context, w io.Writer, f *os.File) {
	const most = 1 << 20 // bytes between looks at ctx
	to, ok := w.(*os.File)
	if !ok {
		return
	}
	conn, err := to.SyscallConn()
	if err != nil {
		return
	}
	from := int(f.Fd())
	for ctx.Err() == nil {
		n := 0
		var err error
		waited := conn.Write(func(fd uintptr) bool {
			n, err = unix.Sendfile(int(fd), from, nil, most)
			return !errors.Is(err, unix.EAGAIN)
		})
		if errors.Is(err, unix.EINTR) && waited == nil {
			continue
		}
		if waited != nil || err != nil || n == 0 {
			return
		}
	}
}
