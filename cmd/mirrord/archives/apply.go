// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/cmd/mirrord/cli"
)

// ApplyCommand is the old name of import OLD --delta DELTA.
func ApplyCommand(a *cli.CLI) *cobra.Command {
	var r archives.ApplyRequest
	return a.Command("apply", cli.Flags{"output": &r.Out}, func(cmd *cobra.Command, args []string) error {
		r.Old, r.Delta = args[0], args[1]
		return applyDelta(cmd.Context(), a, r)
	})
}

// applyDelta makes a newer archive of one and a delta.
func applyDelta(ctx context.Context, a *cli.CLI, r archives.ApplyRequest) error {
	environ, done := a.AppWithNote()
	x, err := archives.ApplyDelta(ctx, environ, r)
	done()
	if err != nil {
		return err
	}
	return a.Show("apply", x)
}
