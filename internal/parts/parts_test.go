// SPDX-License-Identifier: Apache-2.0

package parts

import (
	"slices"
	"strings"
	"testing"
)

type numbers struct{}

func (numbers) Two() int { return 2 }
func (numbers) One() int { return 1 }

type mixed struct{}

func (mixed) One() int      { return 1 }
func (mixed) Three() string { return "3" }

func TestOf(t *testing.T) {
	if got := Of[int](numbers{}); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, want the results in the order of the names", got)
	}
}

// A part that would be left out silently is a panic instead.
func TestOfPanics(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		set        any
	}{
		{"another signature", "Three is func() string, not func() int", mixed{}},
		{"no parts", "has no parts", struct{}{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, tc.want) {
					t.Errorf("got panic %q, want one that says %q", got, tc.want)
				}
			}()
			Of[int](tc.set)
		})
	}
}
