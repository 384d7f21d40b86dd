// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock to change files, by the version of it that knows them (landlock(7)).
const (
	landlockChange = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	landlockTwo   = unix.LANDLOCK_ACCESS_FS_REFER
	landlockThree = unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// Confined calls f on a thread of its own: what it starts changes no files but those below a folder, and
// /dev/null, where the kernel has Landlock. f must start processes on its own goroutine.
func Confined(dir string, f func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := confine(dir)
		if err == nil {
			f()
		}
		done <- err
	}()
	return <-done
}

// confine takes rights from this thread and what it starts.
func confine(dir string) error {
	rights := uint64(landlockChange)
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil // this kernel has none, or it is switched off
	}
	if version >= 2 {
		rights |= landlockTwo
	}
	if version >= 3 {
		rights |= landlockThree
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rights)),
		unsafe.Sizeof(rights), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(set))
	err := errors.Join(allow(int(set), dir, rights),
		allow(int(set), os.DevNull, rights&(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|landlockThree)),
		os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// allow gives rights at a place.
func allow(set int, name string, rights uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}
