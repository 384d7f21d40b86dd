// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"mirrord/app/env"
)

// moved is a flag that only the laboratory of the sources has by now, and the error that says so.
type moved string

func (m moved) Error() string    { return "moved to the laboratory: go run ./testing/lab " + string(m) }
func (m moved) Set(string) error { return m }
func (moved) String() string     { return "" }
func (moved) Type() string       { return "" }

// movedFlags keeps names of flags, for the error that says where they are.
func movedFlags(c *cobra.Command, names ...string) {
	for _, name := range names {
		c.Flags().Var(moved(c.Name()), name, "")
		f := c.Flags().Lookup(name)
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// movedCommand keeps the name of a command for the same.
func movedCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return env.Usagef("%w", moved(name)) },
	}
}
