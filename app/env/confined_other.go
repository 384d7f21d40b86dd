// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package env

// Confined calls f: this system cannot confine it.
func Confined(_ string, f func()) error {
	f()
	return nil
}
