// SPDX-License-Identifier: Apache-2.0

package relocate

// space reports ASCII white space.
func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// word returns the first word of a space-separated list and what follows it; the word is empty at the end.
func word(list []byte) (first, rest []byte) {
	for len(list) > 0 && space(list[0]) {
		list = list[1:]
	}
	n := 0
	for n < len(list) && !space(list[n]) {
		n++
	}
	return list[:n], list[n:]
}
