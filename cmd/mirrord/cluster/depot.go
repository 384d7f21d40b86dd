// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/cluster/engine"
	"mirrord/cmd/mirrord/cli"
	"mirrord/store/shared"
)

// depotAddress is what the flag says, else the environment.
func depotAddress(a *cli.CLI, flag string) string {
	environ, _ := a.LookupEnv(depots.DepotEnv)
	return cmp.Or(flag, environ)
}

func clusterPushCommand(a *cli.CLI) *cobra.Command {
	var r depots.DepotRequest
	return copyCommand(a, "push", &r, cli.Flags{"again": &r.Again}, depots.Push)
}

func clusterPullCommand(a *cli.CLI) *cobra.Command {
	var r depots.DepotRequest
	return copyCommand(a, "pull", &r, cli.Flags{"discard": &r.Discard}, depots.Pull)
}

// copyCommand copies mirrors to a depot or from one.
func copyCommand[T any](
	a *cli.CLI, name string, r *depots.DepotRequest, flags cli.Flags,
	do func(context.Context, *env.App, depots.DepotRequest) (*T, error),
) *cobra.Command {
	flags["depot"] = &r.Depot
	return a.Command(name, flags, func(cmd *cobra.Command, args []string) error {
		r.Jobs, r.Depot, r.Keepers = args, depotAddress(a, r.Depot), keepersOf(a)
		environ, done := a.AppWithNote()
		p, err := do(cmd.Context(), environ, *r)
		done()
		if p == nil {
			return err
		}
		return cmp.Or(a.Show(name, p), err)
	})
}

func clusterDepotCommand(a *cli.CLI) *cobra.Command {
	var address string
	var check, remove, yes bool
	cmd := a.Command("depot", cli.Flags{
		"depot":  &address,
		"check":  &check,
		"remove": &remove,
		"yes":    &yes,
	}, func(cmd *cobra.Command, args []string) error {
		if remove {
			r := depots.DepotRequest{Depot: depotAddress(a, address), Jobs: args, Keepers: keepersOf(a)}
			return removeFromDepot(cmd.Context(), a, r, yes)
		}
		environ, done := a.AppWithNote()
		d, err := depots.LookAtDepot(cmd.Context(), environ, depotAddress(a, address), check)
		done()
		if d == nil {
			return err
		}
		return cmp.Or(a.Show("depot", d), err)
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if remove {
			return cobra.MinimumNArgs(1)(cmd, args)
		}
		return cobra.NoArgs(cmd, args)
	}
	return cmd
}

func removeFromDepot(ctx context.Context, a *cli.CLI, r depots.DepotRequest, yes bool) error {
	d, err := depots.RemoveFromDepot(ctx, a.App(), r, func(all []depot.Pointer) error {
		if yes {
			return nil
		}
		fmt.Fprintf(a.Stderr, "%s: to delete:\n", r.Depot)
		for i := range all {
			text, err := a.Text("pointer", all[i])
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "  %s\n", text)
		}
		return a.ConfirmDeletion()
	})
	if err != nil {
		return err
	}
	return a.Show("removed from depot", d)
}

func clusterCollectCommand(a *cli.CLI) *cobra.Command {
	var address string
	var dry bool
	return a.Command("depot-gc", cli.Flags{
		"depot":   &address,
		"dry-run": &dry,
	}, func(cmd *cobra.Command, _ []string) error {
		return collectDepot(cmd.Context(), a, depotAddress(a, address), dry)
	})
}

func collectDepot(ctx context.Context, a *cli.CLI, address string, dry bool) error {
	c, err := depots.CollectDepot(ctx, a.App(), address, keepersOf(a), dry)
	if err != nil {
		return err
	}
	return a.Show("depot gc", c, struct {
		*depot.DepotCollection
		Dry bool
	}{c, dry})
}

// keepersOf reaches those that the environment names.
func keepersOf(a *cli.CLI) depots.Keepers {
	return func(ctx context.Context) (shared.KeyValues, func(), error) {
		none := func() {}
		o, err := new(clusterFlags).engineOptions(a)
		if err != nil || len(o.Servers) == 0 {
			return nil, none, err
		}
		ctx, cancel := context.WithTimeout(ctx, reachWithin)
		defer cancel()
		o.Log = a.Log()
		e, err := engine.Open(ctx, o)
		if err != nil {
			return nil, none, err
		}
		f, err := e.Facts(ctx)
		if err != nil {
			e.Close()
			return nil, none, err
		}
		return f, e.Close, nil
	}
}
