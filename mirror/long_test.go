// SPDX-License-Identifier: Apache-2.0

package mirror_test

import "os"

// long reports whether the tests are to take their time: with MIRRORD_LONG set, generated sites have the size
// that the product is made for, random tests make many rounds, and policies are held against one another for
// more weeks. Otherwise the same is checked of less.
func long() bool { return os.Getenv("MIRRORD_LONG") != "" }

// sized is how much of something a test makes: brief, or full when the tests are to take their time.
func sized[T any](brief, full T) T {
	if long() {
		return full
	}
	return brief
}
