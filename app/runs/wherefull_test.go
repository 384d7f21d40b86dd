// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"io/fs"
	"syscall"
	"testing"
)

// An error of a full disk names the directory: that of the file, else that of the state.
func TestWhereFull(t *testing.T) {
	named := &fs.PathError{Op: "write", Path: "/tmp/urls-1", Err: syscall.ENOSPC}
	for want, err := range map[string]error{
		"the disk of /tmp is full: write /tmp/urls-1: no space left on device": named,
		"the disk of /state is full: no space left on device":                  syscall.ENOSPC,
		"input/output error": syscall.EIO,
	} {
		if got := whereFull("/state", err); got.Error() != want {
			t.Errorf("%v; want %s", got, want)
		}
	}
}
