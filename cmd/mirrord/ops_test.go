// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"mirrord/app/ops"
	"mirrord/cmd/mirrord/cli"
)

// Each operation has a command, or the table says why it has none; each command has a sentence.
func TestOperations(t *testing.T) {
	has := map[string]bool{}
	for _, c := range rootCommand(&cli.CLI{}).Commands() {
		has[c.Name()] = true
		for _, c := range append(c.Commands(), c) {
			has[c.Name()] = true
			if c.Short == "" && !c.Hidden {
				t.Errorf("%s has no sentence", c.CommandPath())
			}
		}
	}
	for _, o := range ops.Table() {
		if why := o.Lacks(ops.CommandLine); has[o.Command] != (why == "") {
			t.Errorf("%s: offered: %v; why not: %q", o.Name, has[o.Command], why)
		}
	}
}
