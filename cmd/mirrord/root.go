// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/ops"
	"mirrord/cmd/mirrord/archives"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/daemon"
	"mirrord/cmd/mirrord/jobs"
	"mirrord/cmd/mirrord/mirror"
	"mirrord/internal/version"
)

func rootCommand(a *cli.CLI) *cobra.Command {
	root := &cobra.Command{
		Use:   "mirrord",
		Short: "Keep faithful, portable, browsable copies of web sites",
		Long: `mirrord keeps faithful, portable, browsable copies of web sites fresh.

A job is a file NAME.toml in the jobs directory (/etc/mirrord/jobs.d, else ./jobs.d). Mirrors lie in the state
directory: $STATE_DIRECTORY, else /var/lib/mirrord for root and beside /etc/mirrord/jobs.d, else mirrord in the user's
state directory.

Exit codes:
  0  complete, or nothing to do
  1  error
  2  wrong usage, unknown job or invalid job file
  3  partial: run again to continue
  4  held for review: see mirrord accept
  5  locked by another process
  6  published, with resources newly missing: see mirrord status JOB

Which command do I need? mirrord help which-command`,
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateFlagGroups(); err != nil { // cobra does so after this, and then it is no usage error
				return err
			}
			a.Started = true
			cli.NoteOld(a.Stderr, cmd)
			return nil
		},
	}
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 ",
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		`{{.CommandPath}} COMMAND --help explains one; mirrord help questions begins the guide.`,
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("mirrord {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	f := root.PersistentFlags()
	f.StringVar(&a.JobsFlag, "jobs", "", "`DIR` of the job files")
	f.StringVar(&a.StateFlag, "state", "", "`DIR` of the mirrors")
	f.BoolVar(&a.JSON, "json", false, "write the result as JSON")
	f.BoolVarP(&a.Verbose, "verbose", "v", false, "log more")
	for _, g := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			describe(c)
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(cli.OldCommand(daemon.ReloadCommand(a), "daemon reload"),
		cli.OldCommand(daemon.HealthCommand(a), "daemon health"),
		cli.OldCommand(daemon.NotifyTestCommand(a, "notify-test"), "daemon notify"),
		cli.OldCommand(daemon.TokenCommand(a), "console token"),
		cli.OldCommand(daemon.UserCommand(a), "console user"),
		cli.OldCommand(jobs.VersionsCommand(a), "status JOB --versions"),
		cli.OldCommand(archives.ApplyCommand(a), "import OLD --delta DELTA"),
		cli.OldCommand(mirror.ForgetAddressCommand(a), "forget --address"))
	root.AddCommand(mirror.ReplayCommand(a), cli.MovedCommand("near-golden"),
		cli.MovedCommand("replica-golden"), manCommand(a),
		versionCommand(a))
	logs := cli.OtherName(jobs.StatusCommand(a), "logs")
	logs.Flags().Lookup("runs").Value.Set("20") // a number
	root.AddCommand(logs)
	for _, name := range []string{"ls", "list"} {
		root.AddCommand(cli.OtherName(jobs.StatusCommand(a), name))
	}
	for _, name := range []string{"sync", "update", "run"} {
		root.AddCommand(cli.OtherName(jobs.RunNowCommand(a), name))
	}
	root.AddCommand(cli.OtherName(jobs.RemoveCommand(a), "rm"))
	nameUsage(root)
	root.SetHelpCommand(helpCommand())
	refuseUnknown(root)
	return root
}

// describe gives a command, and those below it, the sentence of its operation.
func describe(c *cobra.Command) {
	if o, is := ops.OfCommand(c.Name()); is && c.Short == "" {
		c.Short = o.Doc
	}
	for _, below := range c.Commands() {
		describe(below)
	}
}
