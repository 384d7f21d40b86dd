// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror/scope"
)

func ForgetCommand(a *cli.CLI) *cobra.Command {
	var reason string
	var yes, allow, address bool
	cmd := a.Command("forget", cli.Flags{
		"reason":  &reason,
		"yes":     &yes,
		"allow":   &allow,
		"address": &address,
	}, func(cmd *cobra.Command, args []string) error {
		switch {
		case address:
			return forgetAddresses(a, args)
		case len(args) == 1 && (allow || reason != ""):
			return env.Usagef("name the URL or GLOB; mirrord forget %s lists what was forgotten", args[0])
		case len(args) == 1:
			return printForgotten(a, args[0])
		case allow:
			return allowAgain(cmd.Context(), a, args[0], args[1])
		}
		f, err := care.PlanForget(a.App(), args[0], args[1], reason, math.MaxInt)
		if err != nil {
			return err
		}
		if !yes {
			if err := a.ConfirmPlan(f.Job, f.Plan()); err != nil {
				return err
			}
		}
		if err := care.Forget(cmd.Context(), a.App(), f); err != nil {
			return err
		}
		return a.Show("forget", f)
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if address {
			return cobra.MinimumNArgs(1)(cmd, args)
		}
		return cobra.RangeArgs(1, 2)(cmd, args)
	}
	return cmd
}

func printForgotten(a *cli.CLI, name string) error {
	down, err := care.ForgottenIn(a.App(), name)
	if err != nil {
		return err
	}
	return a.Show("forgotten", down, struct {
		Job string
		*scope.TakeDowns
	}{name, down})
}

func allowAgain(ctx context.Context, a *cli.CLI, name, what string) error {
	if err := care.AllowAgain(ctx, a.App(), name, what); err != nil {
		return err
	}
	if a.JSON {
		return printForgotten(a, name)
	}
	a.Printf("%s: %s may be mirrored again; the next run requests everything: mirrord run-now %s\n", name, what,
		name)
	return nil
}
