// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler"
)

// VersionsCommand is the old name of status JOB --versions.
func VersionsCommand(a *cli.CLI) *cobra.Command {
	return a.Command("versions", nil, func(_ *cobra.Command, args []string) error {
		return printVersions(a, strings.TrimSuffix(args[0], scheduler.Suffix))
	})
}

func printVersions(a *cli.CLI, name string) error {
	vs, err := look.Versions(a.App(), name)
	if err != nil {
		return err
	}
	return a.Show("versions", vs)
}
