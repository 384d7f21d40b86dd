// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Keep says which versions are kept. A version stays when any of the terms wants it; the current version
// always stays.
type Keep struct {
	All     bool
	Last    int           // this many newest
	Within  time.Duration // all that are younger
	Hourly  int           // the newest of each of this many hours that have one, and so on
	Daily   int
	Weekly  int
	Monthly int
	Yearly  int
}

// ParseKeep reads "all" or terms with commas between them: "7" or "last 7", "within 30d", "hourly 24", "daily
// 14", "weekly 8", "monthly 24", "yearly 10".
func ParseKeep(s string) (Keep, error) {
	const hint = `keep looks like "all", "7", "within 90d" or "last 7, weekly 8, monthly 24"`
	var k Keep
	if strings.TrimSpace(s) == "all" {
		k.All = true
		return k, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		f := strings.Fields(part)
		if len(f) == 1 {
			f = []string{"last", f[0]}
		}
		if len(f) != 2 {
			return Keep{}, problemf(hint, "%q is not a keep rule", strings.TrimSpace(part))
		}
		if seen[f[0]] {
			return Keep{}, problemf("", "keep says %q twice", f[0])
		}
		seen[f[0]] = true
		if f[0] == "within" {
			d, err := ParseDuration(f[1])
			if err != nil || d == 0 {
				return Keep{}, problemf(hint, "%q is not an age", f[1])
			}
			k.Within = d
			continue
		}
		dst := k.count(f[0])
		if dst == nil {
			if n := Nearest(f[0],
				[]string{"last", "within", "hourly", "daily", "weekly", "monthly", "yearly", "all"}); n != "" {
				return Keep{}, problemf(fmt.Sprintf("did you mean %q?", n), "%q is not a keep rule", f[0])
			}
			return Keep{}, problemf(hint, "%q is not a keep rule", f[0])
		}
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 1 || n > 1_000_000 {
			return Keep{}, problemf(hint, "%q is not a number of versions", f[1])
		}
		*dst = n
	}
	return k, nil
}

func (k *Keep) count(term string) *int {
	return map[string]*int{
		"last":    &k.Last,
		"hourly":  &k.Hourly,
		"daily":   &k.Daily,
		"weekly":  &k.Weekly,
		"monthly": &k.Monthly,
		"yearly":  &k.Yearly,
	}[term]
}
