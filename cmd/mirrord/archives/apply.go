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
	cmd := &cobra.Command{
		Use:   "apply OLD DELTA",
		Short: "Update an archive with a delta",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Old, r.Delta = args[0], args[1]
			return applyDelta(cmd.Context(), a, r)
		},
	}
	addOutput(cmd, &r)
	return cmd
}

// addOutput adds the flag for the archive that a delta makes.
func addOutput(cmd *cobra.Command, r *archives.ApplyRequest) {
	cmd.Flags().StringVarP(&r.Out, "output", "o", "",
		"`FILE` for the new archive of a delta (default: OLD)")
}

// applyDelta makes a newer archive of one and a delta.
func applyDelta(ctx context.Context, a *cli.CLI, r archives.ApplyRequest) error {
	show, end := exportProgress(a, r.Old)
	r.Progress = show
	x, err := archives.ApplyDelta(ctx, r)
	end()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(x)
	}
	a.Printf("%s: version %d is now version %d: %s\n", x.Path, x.Base, x.Version, cli.BytesText(x.Bytes))
	return nil
}
