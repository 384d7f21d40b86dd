package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"mirrord/control"
	"mirrord/notify"
	"mirrord/status"
)

// notifyOptions says how messages leave this machine.
func (a *app) notifyOptions(mail, from, host string, log *slog.Logger) (o notify.Options, err error) {
	o = notify.Options{Host: host, LookupEnv: a.lookupEnv, ReadFile: os.ReadFile, Log: log}
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil {
			return o, err
		}
	}
	if mail == "" {
		mail = "smtp://localhost"
		if _, err := os.Stat("/usr/sbin/sendmail"); err == nil {
			mail = "/usr/sbin/sendmail"
		}
	}
	if o.Mail, err = notify.ParseMail(mail); err != nil {
		return o, &exitErr{exitUsage, err}
	}
	o.Mail.From = from
	o.Mail.Password, _ = a.lookupEnv("MIRRORD_SMTP_PASSWORD")
	return o, nil
}

func (a *app) notifyTestCommand() *cobra.Command {
	var mail, from, host string
	cmd := a.jobCommand("notify-test", "Send a test to everybody whom a job tells", `Send a test message to everybody whom [notify] of a job names: command, webhook and mail, and say how that went. When a daemon owns the state directory it is
the one who sends, with its own flags and from inside its sandbox. Exit code 1 when one could not be reached.`,
		func(ctx context.Context, name string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			var told []control.Told
			if c != nil {
				if told, err = c.NotifyTest(ctx, name); err != nil {
					return clientError(err)
				}
			} else {
				j, err := a.findJob(name)
				if err != nil {
					return err
				}
				o, err := a.notifyOptions(mail, from, host, a.log())
				if err != nil {
					return err
				}
				s := status.Job{Name: j.Name, Schedule: j.Schedule}
				s.Judge(time.Now())
				told = toldOf(notify.New(o).Test(ctx, j, s))
			}
			return a.reportTold(name, told)
		})
	cmd.Flags().StringVar(&mail, "mail", "", "without a daemon: as for mirrord daemon")
	cmd.Flags().StringVar(&from, "mail-from", "", "without a daemon: as for mirrord daemon")
	cmd.Flags().StringVar(&host, "host", "", "without a daemon: as for mirrord daemon")
	return cmd
}

func (a *app) reportTold(name string, told []control.Told) error {
	if len(told) == 0 {
		return fmt.Errorf("job %s tells nobody: add [notify] with command, webhook or email", name)
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
		return &exitErr{code: exitError}
	}
	return nil
}
