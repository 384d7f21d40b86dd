// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"mirrord/app/env"
)

// Moved is a flag that only the laboratory of the sources has by now, and the error that says so.
type Moved string

func (m Moved) Error() string { return "moved to the laboratory: go run ./testing/lab " + string(m) }

func (m Moved) Set(string) error { return m }

func (Moved) String() string { return "" }

func (Moved) Type() string { return "" }

// movedFlags keeps names of flags, for the error that says where they are.
func movedFlags(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.Flags().Var(Moved(c.Name()), name, "")
		f := c.Flags().Lookup(name)
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// MovedCommand keeps the name of a command for the same.
func MovedCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return env.Usagef("%w", Moved(name)) },
	}
}
