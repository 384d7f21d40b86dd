// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"slices"
	"testing"

	"mirrord/job"
)

// When the given URL redirects to the same host with or without www., links to either go to the one copy.
func TestGetKnowsOtherName(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"http://e.org/", "https://www.e.org/", []string{"e.org"}},
		{"https://www.e.org/", "https://e.org/start", []string{"www.e.org"}},
		{"http://e.org/", "https://e.org/", nil},
		{"http://e.org/", "https://docs.e.org/", nil},
	} {
		r := GetRequest{Job: job.Default(c.from)}
		if err := r.mirror([]string{c.to}); err != nil {
			t.Fatal(err)
		}
		if got := r.Job.Scope.Aliases; !slices.Equal(got, c.want) {
			t.Errorf("%s redirects to %s: aliases %v", c.from, c.to, got)
		}
	}
}
