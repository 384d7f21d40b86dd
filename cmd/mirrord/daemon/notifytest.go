// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"slices"
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
	err := a.Show("told", told)
	if err == nil && slices.ContainsFunc(told, func(t control.Told) bool { return t.Error != "" }) {
		err = &env.Error{}
	}
	return err
}
