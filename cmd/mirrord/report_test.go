// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// Hints carry sudo for users who came by it, and for no others.
func TestHintsBySudo(t *testing.T) {
	const hint = "look at /srv/mirrord and at mirrord diff a; start it: sudo systemctl start mirrord; " +
		"mirrord accept a"
	const sudo = "look at /srv/mirrord and at sudo mirrord diff a; start it: sudo systemctl start mirrord; " +
		"sudo mirrord accept a"
	for _, c := range []struct {
		root, sudo bool
		want       string
	}{{true, true, sudo}, {true, false, hint}, {false, true, hint}} {
		a := &cli.CLI{Environ: cli.Environ{
			Root:      c.root,
			LookupEnv: func(name string) (string, bool) { return "me", c.sudo && name == "SUDO_USER" },
		}}
		if got := a.Typed(hint); got != c.want {
			t.Errorf("root %v, sudo %v: %s", c.root, c.sudo, got)
		}
		if got := a.Typed("mirrord serve a"); (got == "sudo mirrord serve a") != (c.want == sudo) {
			t.Error(got)
		}
	}
}
