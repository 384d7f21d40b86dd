// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/cmd/mirrord/cli"
)

func ApplyCommand(a *cli.CLI) *cobra.Command {
	var r archives.ApplyRequest
	cmd := &cobra.Command{
		Use:   "apply OLD DELTA",
		Short: "Update an archive with a delta",
		Long: `Make the new PHM archive of an older one and a delta that mirrord export --since wrote: byte for byte the archive that
mirrord export wrote of that version. OLD is replaced unless -o names another file.

A delta fits one archive. Everything is checked before OLD is replaced: that the delta builds on it, and the digest of what
comes out. When something is wrong, nothing changes. Guide: docs/archives.md.`,
		Example: `  mirrord apply samba.phm samba-since-12.phm
  mirrord apply samba-12.phm samba-since-12.phm -o samba-15.phm`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Old, r.Delta = args[0], args[1]
			show, end := exportProgress(a, r.Old)
			r.Progress = show
			x, err := archives.ApplyDelta(cmd.Context(), r)
			end()
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(x)
			}
			a.Printf("%s: version %d is now version %d: %s\n", x.Path, x.Base, x.Version, cli.BytesText(x.Bytes))
			return nil
		},
	}
	cmd.Flags().StringVarP(&r.Out, "output", "o", "", "`FILE` for the new archive (default: OLD is replaced)")
	return cmd
}
