// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"math"
	"strings"
)

// A size is a number of bytes or a range of them; unknown when value is negative.
type size struct {
	value, min, max int64
	exact           bool
}

var unknownSize = size{-1, -1, -1, false}

func exactSize(n int64) size { return size{n, n, n, true} }

// parseSize reads a size: "1536", "1.5K", "12M", "1.5 MiB", "999 B". A rounded one stands for the values up
// to one unit of its last digit away, which covers rounding to the nearest (nginx, Apache) and cutting off
// (lighttpd), of this step and of those before it. "KB" may mean 1000 or 1024: the range covers both.
func parseSize(s string) (size, bool) {
	i := 0
	var n, scale int64 = 0, 1 // s is n/scale units
	dot := false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !dot && i > 0 {
			dot = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		if n > (math.MaxInt64-9)/10 || scale > 1000 {
			return unknownSize, false
		}
		n = n*10 + int64(c-'0')
		if dot {
			scale *= 10
		}
	}
	if i == 0 || s[i-1] == '.' {
		return unknownSize, false
	}
	low, high, ok := unit(strings.TrimLeft(s[i:], " \u00a0"))
	if !ok || (dot && high == 1) {
		return unknownSize, false
	}
	if high == 1 {
		return exactSize(n), true
	}
	if n >= math.MaxInt64/high-1 {
		return unknownSize, false
	}
	z := size{value: n * high / scale, min: max(0, n-1) * low / scale, max: ((n+1)*high + scale - 1) / scale}
	return z, true
}

// unit returns how many bytes a unit is, at least and at most.
func unit(s string) (low, high int64, ok bool) {
	if len(s) > 3 {
		return 0, 0, false
	}
	switch strings.ToUpper(s) {
	case "", "B":
		return 1, 1, true
	}
	power := strings.IndexByte("KMGTPE", s[0]&^0x20) + 1
	if power == 0 {
		return 0, 0, false
	}
	low, high = 1, 1
	for range power {
		low, high = low*1000, high*1024
	}
	switch strings.ToUpper(s[1:]) {
	case "", "IB":
		return high, high, true
	case "B":
		return low, high, true
	}
	return 0, 0, false
}
