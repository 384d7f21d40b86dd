// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Attributes are found as a regular expression finds them.
func TestDataAttributes(t *testing.T) {
	like := regexp.MustCompile(`data-([a-z-]+)="([^"]*)"`)
	part := rapid.SampledFrom([]string{
		"data-", "data", "-", "a", "z-b", "Z", "1", "=", `="`, `"`, " ", "'", "&quot;", `data-root-path="../"`, `data-x=""`,
	})
	rapid.Check(t, func(t *rapid.T) {
		element := strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "")
		var got, want [][2]string
		for _, a := range dataAttributes(element) {
			got = append(got, [2]string{a.name, a.value})
		}
		for _, m := range like.FindAllStringSubmatch(element, -1) {
			want = append(want, [2]string{m[1], html.UnescapeString(m[2])})
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %q, want %q", element, got, want)
		}
	})
}
