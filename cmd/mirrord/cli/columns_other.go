// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cli

import "os"

// TerminalOf says whether a file is a terminal, and how wide that is, 0 when it does not say.
func TerminalOf(f *os.File) (columns int, ok bool) {
	fi, err := f.Stat()
	return 0, err == nil && fi.Mode()&os.ModeCharDevice != 0
}
