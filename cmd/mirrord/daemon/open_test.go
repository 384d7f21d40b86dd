// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"testing"
)

// The page that logs in continues at the address, also one with markup in it.
func TestLeadPage(t *testing.T) {
	page := leadPage(`http://127.0.0.1:9181/login?key=a"><script>`)
	const want = "url=http://127.0.0.1:9181/login?key=a&#34;&gt;"
	if !strings.Contains(page, want) || strings.Contains(page, "<script") {
		t.Error(page)
	}
}

// No browser is started for root, or where there is no display.
func TestHasDesktop(t *testing.T) {
	for _, tc := range []struct {
		user int
		env  map[string]string
		want bool
	}{
		{1000, map[string]string{"DISPLAY": ":0"}, true},
		{1000, map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		{1000, map[string]string{"DISPLAY": ""}, false},
		{1000, nil, false},
		{0, map[string]string{"DISPLAY": ":0"}, false},
	} {
		lookup := func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }
		if got := hasDesktop(tc.user, lookup); got != tc.want {
			t.Errorf("user %d with %v: %v", tc.user, tc.env, got)
		}
	}
}
