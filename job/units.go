// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written "10MB" (10 000 000), "1GiB" (2^30), "512B" or as a plain number of
// bytes.
type Size int64

// Rate is a number of bytes per second, written "2MB/s".
type Rate int64

// Share is a part of a whole from 0 to 1, written "10%" or 0.1.
type Share float64

type unit struct {
	name string
	n    float64
}

func sizeUnits() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
	}
}

// ParseSize reads a size. A number without a unit is bytes.
func ParseSize(s string) (Size, error) {
	const hint = `sizes look like "512B", "10MB" or "1GiB"`
	t := strings.TrimSpace(s)
	num, factor := t, 1.0
	for _, u := range sizeUnits() {
		if rest, ok := strings.CutSuffix(t, u.name); ok {
			num, factor = strings.TrimSpace(rest), u.n
			break
		}
	}
	v, err := parseDecimal(num)
	if err != nil {
		if len(t) > 1 && strings.ContainsAny(t[len(t)-1:], "kKMGTmgt") {
			if _, err := parseDecimal(t[:len(t)-1]); err == nil {
				letter := strings.ToUpper(t[len(t)-1:])
				return 0,
					problemf(fmt.Sprintf("write %s%sB for powers of 1000 or %s%siB for powers of 1024", t[:len(t)-1], letter,
						t[:len(t)-1], letter), "%q is not a size", s)
			}
		}
		return 0, problemf(meantSize(t, hint), "%q is not a size", s)
	}
	if v *= factor; v >= math.MaxInt64 {
		return 0, problemf(hint, "size %q is too large", s)
	}
	return Size(v), nil
}

// parseDecimal reads digits with an optional fraction; no sign, no exponent, no infinity.
func parseDecimal(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.") != "" || len(s) > 30 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// String returns the size in the largest unit that is exact.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	best := strconv.FormatInt(int64(s), 10) + "B"
	for _, u := range sizeUnits() {
		if n := int64(u.n); int64(s)%n == 0 && u.name != "KB" {
			if t := strconv.FormatInt(int64(s)/n, 10) + u.name; len(t) < len(best) {
				best = t
			}
		}
	}
	return best
}

// ParseRate reads a rate; "/s" may be left out.
func ParseRate(s string) (Rate, error) {
	v, err := ParseSize(strings.TrimSuffix(strings.TrimSpace(s), "/s"))
	if err != nil {
		return 0, problemf(meantRate(s, `rates look like "500kB/s" or "2MiB/s"`), "%q is not a rate", s)
	}
	return Rate(v), nil
}

func (r Rate) String() string {
	if r == 0 {
		return "0"
	}
	return Size(r).String() + "/s"
}

// ParseDuration reads "500ms", "30s", "1h30m", and also days and weeks: "7d", "2w".
func ParseDuration(s string) (time.Duration, error) {
	t := strings.TrimSpace(s)
	if t == "0" {
		return 0, nil
	}
	var total time.Duration
	for rest := t; ; {
		i := strings.IndexAny(rest, "dw")
		if i < 0 {
			if rest != "" {
				d, err := time.ParseDuration(rest)
				if err != nil || strings.ContainsAny(rest, "+-") {
					if _, err := parseDecimal(t); err == nil {
						return 0, problemf(fmt.Sprintf("write %q for seconds", t+"s"), "duration %q has no unit", s)
					}
					return 0, problemf(durationHint(s), "%q is not a duration", s)
				}
				total += d
			}
			break
		}
		n, err := parseDecimal(rest[:i])
		day := float64(24 * time.Hour)
		if rest[i] == 'w' {
			day *= 7
		}
		if n *= day; err != nil || n > math.MaxInt64/4 {
			return 0, problemf(durationHint(s), "%q is not a duration", s)
		}
		if total += time.Duration(n); total < 0 {
			break
		}
		rest = rest[i+1:]
	}
	if t == "" || total < 0 {
		return 0, problemf(durationHint(s), "%q is not a duration", s)
	}
	return total, nil
}

// formatDuration writes d so that ParseDuration reads it back, without zero parts: "1h", not "1h0m0s".
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "0s"
	case d%(7*day) == 0:
		return strconv.FormatInt(int64(d/(7*day)), 10) + "w"
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// ParseShare reads "10%" or "0.1".
func ParseShare(s string) (Share, error) {
	t := strings.TrimSpace(s)
	num, percent := strings.CutSuffix(t, "%")
	v, err := parseDecimal(strings.TrimSpace(num))
	if percent {
		v /= 100
	}
	if err != nil || v > 1 {
		return 0, problemf(`shares look like "10%" or 0.1 and are at most 100%`, "%q is not a share", s)
	}
	return Share(v), nil
}

// String returns the share in percent, or as a fraction where percent would not be exact.
func (s Share) String() string {
	percent := strconv.FormatFloat(float64(s)*100, 'f', -1, 64) + "%"
	if back, err := ParseShare(percent); err == nil && back == s {
		return percent
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64)
}
