// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"errors"
	"slices"

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
	if err == nil || !a.JSON {
		err = cmp.Or(err, a.Show("addresses", results))
	}
	unknown := func(r care.Forgotten) bool { return !r.Forgotten }
	if err == nil && slices.ContainsFunc(results, unknown) {
		err = &env.Error{Err: errors.New("forget-address: a name is not remembered; names are host names " +
			"without port, as in public-names")}
	}
	return err
}
