// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package app

import "os"

// asUser calls f as it is: other systems have no rights of a single thread.
func asUser(_ fileOwner, f func()) error {
	f()
	return nil
}

// mayWrite returns an error unless dir is a directory.
func mayWrite(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// mayRun returns an error unless there is a file.
func mayRun(path string) error {
	_, err := os.Stat(path)
	return err
}

// readOnlyAt knows nothing of mounts.
func readOnlyAt(string) bool { return false }
