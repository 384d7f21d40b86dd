// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"math"
	"regexp"
	"strconv"
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
	m := sizeForm.FindStringSubmatch(strings.ToUpper(s))
	if m == nil {
		return unknownSize, false
	}
	n, err := strconv.ParseInt(m[1]+m[2], 10, 64)
	if unit := m[3]; err != nil || (unit == "" && m[2] != "") {
		return unknownSize, false
	} else if unit == "" {
		return exactSize(n), true
	}
	var low, high, scale int64 = 1, 1, 1 // bytes of the unit, at least and at most; the number is n/scale units
	for range strings.Index("KMGTPE", m[3]) + 1 {
		low, high = low*1000, high*1024
	}
	if m[4] != "B" {
		low = high
	}
	for range m[2] {
		scale *= 10
	}
	if n >= math.MaxInt64/high-1 {
		return unknownSize, false
	}
	z := size{value: n * high / scale, min: max(0, n-1) * low / scale, max: ((n+1)*high + scale - 1) / scale}
	return z, true
}

// sizeForm is a number with its fraction, a unit, and how that is written further, in upper case.
var sizeForm = regexp.MustCompile(`^(\d+)(?:\.(\d{1,4}))?[ \x{a0}]*(?:([KMGTPE])(I?B)?|B?)$`)
