// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"testing"

	"mirrord/job"
	"mirrord/site"
)

// An alias without a port is the host at the port of the job's first URL; one with a port is at that.
func TestAliasPorts(t *testing.T) {
	const ported = "http://www.example.org:8080/"
	for _, c := range []struct{ url, alias, of, want string }{
		{ported, "example.org", "http://example.org:8080/a", ported + "a"},
		{ported, "Example.org", "https://example.org:8080/a", ported + "a"},
		{ported, "example.org", "http://example.org/a", "http://example.org/a"},
		{ported, "example.org:80", "http://example.org/a", ported + "a"},
		{ported, "example.org:81", "http://example.org:81/a", ported + "a"},
		{"http://example.org:8080/", "example.org", "http://example.org/a", "http://example.org:8080/a"},
		{"http://[::1]:8080/", "[::2]", "http://[::2]:8080/a", "http://[::1]:8080/a"},
		{"http://[::1]:8080/", "[::2]:81", "http://[::2]:81/a", "http://[::1]:8080/a"},
		{"https://www.example.org/", "example.org", "http://example.org/a", "https://www.example.org/a"},
		{"https://www.example.org/", "example.org", "https://example.org/a", "https://www.example.org/a"},
		{"https://www.example.org/", "example.org", "http://example.org:8080/a", "http://example.org:8080/a"},
	} {
		j, err := job.Parse("j", "j.toml", fmt.Appendf(nil, "url = %q\nscope.aliases = [%q]\n", c.url, c.alias))
		if err != nil {
			t.Fatal(err)
		}
		rules, err := Compile(j)
		if err != nil {
			t.Fatal(err)
		}
		u := site.Canonical(c.of)
		if got := rules.Main(u); got.String() != c.want {
			t.Errorf("%s, alias %s: %s is %s, want %s", c.url, c.alias, u, got, c.want)
		}
		if got := string(rules.MainOf([]byte(u.String()))); got != c.want {
			t.Errorf("%s, alias %s: %s is %s by its bytes, want %s", c.url, c.alias, u, got, c.want)
		}
	}
}
