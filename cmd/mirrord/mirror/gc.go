// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/cmd/mirrord/cli"
)

func GCCommand(a *cli.CLI) *cobra.Command {
	var dry bool
	return a.Command("gc", cli.Flags{
		"dry-run": &dry,
	}, func(cmd *cobra.Command, args []string) error {
		c, err := care.Collect(cmd.Context(), a.App(), args, dry)
		if c == nil {
			return err
		}
		return cmp.Or(a.Show("gc", c), err)
	})
}
