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
	return a.Command("forget-address", nil, func(_ *cobra.Command,
		args []string) error {
		return forgetAddresses(a, args)
	})
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
