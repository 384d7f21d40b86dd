// SPDX-License-Identifier: Apache-2.0

package job

import "strings"

// Nearest returns the candidate that s was probably meant to be, or "". A candidate is near when at most a
// third of its letters (and at least one) have to change, counted as in the optimal string alignment
// distance: insert, delete, replace, swap neighbours.
func Nearest(s string, candidates []string) string {
	s = strings.ToLower(strings.ReplaceAll(s, "-", "_"))
	if len(s) > 64 {
		return ""
	}
	best, bestD := "", 1<<30
	for _, c := range candidates {
		limit := max(1, min(len(s), len(c))/3)
		if d := distance(s, strings.ReplaceAll(c, "-", "_")); d <= limit && d < bestD {
			best, bestD = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance of a and b in bytes.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
