// SPDX-License-Identifier: Apache-2.0

package daemon

import "testing"

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
