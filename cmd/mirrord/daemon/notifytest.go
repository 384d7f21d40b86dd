// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/control"
	"mirrord/scheduler/notify"
)

func NotifyTestCommand(a *cli.CLI, name string) *cobra.Command {
	var cmd *cobra.Command
	f := defaultDaemonFlags()
	cmd = cli.JobCommand(a, name, cli.Flags{"mail": &f.mail, "mail-from": &f.from, "host": &f.host},
		func(ctx context.Context, name string) error {
			c, err := a.App().Commander(ctx)
			if err != nil {
				return err
			}
			var told []control.Told
			if c != nil {
				if told, err = c.NotifyTest(ctx, name); err != nil {
					return cli.ClientError(err)
				}
			} else {
				g, err := f.configured(a, cmd.Flags())
				if err != nil {
					return err
				}
				if told, err = life.NotifyTest(ctx, a.App(), name, g.notify()); err != nil {
					return err
				}
			}
			return reportTold(a, name, told)
		})
	return cmd
}

func reportTold(a *cli.CLI, name string, told []control.Told) error {
	if len(told) == 0 {
		return fmt.Errorf("job %s notifies no one: add one of %s", name, strings.Join(notify.Keys(), ", "))
	}
	failed := false
	for _, t := range told {
		failed = failed || t.Error != ""
		switch {
		case a.JSON:
		case t.Error != "":
			a.Printf("%s: %s\n", t.To, t.Error)
		default:
			a.Printf("%s: ok\n", t.To)
		}
	}
	if a.JSON {
		if err := a.PrintJSON(told); err != nil {
			return err
		}
	}
	if failed {
		return &env.Error{}
	}
	return nil
}
