// SPDX-License-Identifier: Apache-2.0

package env

import (
	"strings"
)

// Joined joins words as people do: with commas, and last before the last of them, as in "full, near or
// adaptive".
func Joined(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
