// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"mirrord/app"
)

func importCommand(a *cli) *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "import FILE --as JOB",
		Short: "Make a mirror of an archive",
		Long: `Make a PHM archive (.phm), a tar of one (.tar.zst, .tar.gz or .tar), a ZIM file of mirrord or a directory the first version of a job's mirror.
It may come from anybody: names, sizes, digests and addresses are checked before and while it is unpacked, and nothing is left of it when something is wrong. The next
run of the job brings the mirror up to date; what was flattened or masked is whole again after it.`,
		Example: `  mirrord import samba.phm --as samba
  mirrord import /media/usb/samba --as samba
  mirrord verify samba.tar.zst && mirrord import samba.tar.zst --as samba`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" {
				return app.Usagef("import: --as JOB is missing")
			}
			m, err := app.Import(cmd.Context(), a.app(), args[0], as)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(m)
			}
			a.printf("%s: version %d is %s: %d files, %s\n", as, app.ImportedVersion(m), args[0], m.Files,
				bytesText(m.Bytes))
			return nil
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "`JOB` that the mirror is for")
	return cmd
}
