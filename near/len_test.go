// SPDX-License-Identifier: Apache-2.0

package near

// Len is how many directories have a rule.
func (r *Rules) Len() (n int) {
	for _, k := range r.of {
		if k >= 0 {
			n++
		}
	}
	return n
}
