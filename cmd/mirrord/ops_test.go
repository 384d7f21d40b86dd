// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"mirrord/app/ops"
)

// Each operation has a command with its sentence, or the table says why it has none.
func TestOperations(t *testing.T) {
	root := rootCommand(&cli{})
	short := map[string]string{}
	for _, c := range root.Commands() {
		short[c.Name()] = c.Short
	}
	for _, o := range ops.Table() {
		said, has := short[o.Command()]
		if why := ops.Lacking()[ops.CommandLine][o.Name]; has != (why == "") {
			t.Errorf("%s: offered: %v; why not: %q", o.Name, has, why)
		}
		if o.Command() == o.Name && has && said != o.Doc {
			t.Errorf("%s: the command says %q, the table %q", o.Name, said, o.Doc)
		}
	}
}
