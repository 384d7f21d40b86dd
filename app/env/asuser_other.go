// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package env

import "os"

// AsUser calls f as it is: other systems have no rights of a single thread.
func AsUser(_ fileOwner, f func()) error {
	f()
	return nil
}

// MayWrite returns an error unless dir is a directory.
func MayWrite(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// MayRun returns an error unless there is a file.
func MayRun(path string) error {
	_, err := os.Stat(path)
	return err
}

// ReadOnlyAt knows nothing of mounts.
func ReadOnlyAt(string) bool { return false }
