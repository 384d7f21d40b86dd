// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
)

func ForgetAddressCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "forget-address NAME…",
		Short: "Trust a host's new private address",
		Long: `Forget that host names were once at public addresses.

A host name that was ever public is not connected to at a private address later, regardless of polite.allow_private: the owner of its DNS could lead the
mirror into its own network. This command trusts names again that were moved to a private address for good. It says nothing about other jobs or
addresses: the job still needs polite.allow_private. Runs under way use it at their next connection.

The names are in the file public-names of the state directory. Exit code 1 when a name is not remembered.`,
		Example: `  mirrord forget --address wiki.corp.example`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return forgetAddresses(a, args) },
	}
}

// forgetAddresses lets host names be private that were public.
func forgetAddresses(a *cli.CLI, args []string) error {
	results, err := care.ForgetAddresses(a.App(), args)
	unknown := false
	for _, x := range results {
		unknown = unknown || !x.Forgotten
		switch {
		case a.JSON:
		case x.Forgotten:
			a.Printf("%s: forgotten; it may be private where a job allows it\n", x.Name)
		default:
			a.Printf("%s: not remembered as public; nothing to do\n", x.Name)
		}
	}
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(results); err != nil {
			return err
		}
	}
	if unknown {
		return &env.Error{Err: errors.New("forget-address: a name is not remembered; names are host names " +
			"without port, as in public-names")}
	}
	return nil
}
