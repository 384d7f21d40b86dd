// SPDX-License-Identifier: Apache-2.0

// Package count writes numbers for a person: with their nouns ("1 file", "2 files"), and durations.
package count

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Number is what things are counted in.
type Number interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64
}

// Of is a number with its noun. many is its form for all numbers but one; without it that is one with an s.
// A noun may bring its verb: Of(n, "body is", "bodies are").
func Of[N Number](n N, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// OfAny is Of for any kind of integer, as templates have it.
func OfAny(n any, one string, many ...string) string {
	return Of(reflect.ValueOf(n).Int(), one, many...)
}

// FirstGone says how many URLs of a mirror answered 404 or 410 for the first time; "" for none.
func FirstGone(n int64) string {
	if n == 0 {
		return ""
	}
	return Of(n, "URL answers", "URLs answer") + " 404 or 410 for the first time"
}

// Span is a duration as people write it, with as many digits as matter: "1h" in place of "1h0m0s", "1.5s".
func Span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		d = d.Round(10 * time.Millisecond)
	case d < time.Minute:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Second)
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// Took is a duration as pages show it, with its units apart: "0.44 s", "3 min 53 s", "2 h 5 min".
func Took(d time.Duration) string {
	switch {
	case d > 0 && d < time.Second:
		return fmt.Sprintf("%.2g s", d.Round(10*time.Millisecond).Seconds())
	case d >= time.Hour:
		d = d.Round(time.Minute)
	}
	return strings.TrimSpace(strings.NewReplacer("h", " h ", "m", " min ", "s", " s").Replace(Span(d)))
}

// Bytes writes a number of bytes for people, with two or three digits.
func Bytes(n int64) string {
	units := [...]string{"B", "kB", "MB", "GB", "TB", "PB"}
	f, i := float64(n), 0
	for f >= 999.5 && i < len(units)-1 {
		f /= 1000
		i++
	}
	if i == 0 || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// Ago writes a time that has passed, in its largest unit. The least is a second.
func Ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}
