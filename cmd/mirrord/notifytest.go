// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/scheduler/control"
	"mirrord/scheduler/notify"
)

func notifyTestCommand(a *cli, name string) *cobra.Command {
	var cmd *cobra.Command
	f := defaultDaemonFlags()
	cmd = jobCommand(a, name, `Send a test message to all receivers in [notify] of a job: command, webhook and mail, and say how that went. When a daemon owns the state directory it is
the one who sends, with its own settings and from inside its sandbox. Exit code 1 when one could not be reached.`,
		func(ctx context.Context, name string) error {
			c, err := a.app().Commander(ctx)
			if err != nil {
				return err
			}
			var told []control.Told
			if c != nil {
				if told, err = c.NotifyTest(ctx, name); err != nil {
					return clientError(err)
				}
			} else {
				g, err := f.configured(a, cmd.Flags())
				if err != nil {
					return err
				}
				if told, err = life.NotifyTest(ctx, a.app(), name, g.notify()); err != nil {
					return err
				}
			}
			return reportTold(a, name, told)
		})
	for name, to := range map[string]*string{"mail": &f.mail, "mail-from": &f.from, "host": &f.host} {
		cmd.Flags().StringVar(to, name, "", "")
		oldFlag(cmd, name, "it is in "+configName)
	}
	return cmd
}

func reportTold(a *cli, name string, told []control.Told) error {
	if len(told) == 0 {
		return fmt.Errorf("job %s tells nobody: add one of %s", name, strings.Join(notify.Keys(), ", "))
	}
	failed := false
	for _, t := range told {
		failed = failed || t.Error != ""
		switch {
		case a.json:
		case t.Error != "":
			a.printf("%s: %s\n", t.To, t.Error)
		default:
			a.printf("%s: ok\n", t.To)
		}
	}
	if a.json {
		if err := a.printJSON(told); err != nil {
			return err
		}
	}
	if failed {
		return &env.Error{}
	}
	return nil
}
