// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"time"
)

// cutUnit splits "10 megabytes" into the number and the word behind it, in lower case.
func cutUnit(s string) (n float64, word string, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 {
		return 0, "", false
	}
	n, err := parseDecimal(s[:end])
	return n, strings.TrimSpace(s[end:]), err == nil
}

// meantDuration reads a duration with the units that people write: "30 min", "6 hours", "1 month".
func meantDuration(s string) (time.Duration, bool) {
	if d, err := time.ParseDuration(strings.ReplaceAll(s, " ", "")); err == nil && d >= 0 {
		return d, true
	}
	n, word, ok := cutUnit(s)
	if !ok || n > 1e6 {
		return 0, false
	}
	const day = 24 * time.Hour
	for _, u := range []struct {
		words string
		unit  time.Duration
	}{
		{"sec secs second seconds", time.Second},
		{"min mins minute minutes", time.Minute},
		{"hr hrs hour hours", time.Hour},
		{"d day days", day},
		{"w week weeks", 7 * day},
		{"mo month months", 30 * day},
		{"y yr year years", 365 * day},
	} {
		for w := range strings.FieldsSeq(u.words) {
			if w == word {
				return time.Duration(n * float64(u.unit)), true
			}
		}
	}
	return 0, false
}

func durationHint(s string) string {
	if d, ok := meantDuration(s); ok {
		return fmt.Sprintf("did you mean %q?", formatDuration(d))
	}
	return `durations look like "500ms", "30s", "1h30m" or "7d"`
}

// meantSize is the hint for a size whose unit is written in another way, else hint.
func meantSize(s, hint string) string {
	num, word, ok := cutUnit(s)
	if !ok {
		return hint
	}
	for _, u := range sizeUnits() {
		letter := strings.ToLower(u.name[:1])
		long := map[string]string{"k": "kilo", "m": "mega", "g": "giga", "t": "tera"}[letter]
		if word == strings.ToLower(u.name) || (len(u.name) == 2 && strings.TrimSuffix(word, "s") == long+"byte") {
			return fmt.Sprintf("did you mean %q?", strings.TrimSpace(s[:len(s)-len(word)])+u.name)
		}
	}
	if strings.TrimSuffix(word, "s") == "byte" && num >= 0 {
		return fmt.Sprintf("did you mean %q?", strings.TrimSpace(s[:len(s)-len(word)])+"B")
	}
	return hint
}

// meantRate is the hint for a rate in bits, or with another word for "each second", else hint.
func meantRate(s, hint string) string {
	n, word, ok := cutUnit(s)
	if !ok {
		return hint
	}
	word = strings.TrimSuffix(strings.TrimSuffix(word, "/s"), "ps")
	factor, bits := map[string]float64{"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[word]
	if bits && n < 1e9 {
		return fmt.Sprintf("rates are in bytes: did you mean %q?", Rate(n*factor/8))
	}
	for _, u := range sizeUnits() {
		if word == strings.ToLower(u.name) {
			return fmt.Sprintf("did you mean %q?", fmt.Sprintf("%v", n)+u.name+"/s")
		}
	}
	return hint
}
