// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/cmd/mirrord/cli"
)

func ExportCommand(a *cli.CLI) *cobra.Command {
	var o archives.ExportRequest
	spaceName := ""
	cmd := a.Command("export", cli.Flags{
		"output":       &o.Out,
		"version":      &o.Version,
		"format":       &o.Format,
		"since":        &o.Since,
		"single-file":  &o.Single,
		"flatten":      &o.Flatten,
		"all-versions": &o.AllVersions,
		"with-cookies": &o.Cookies,
		"sign":         &o.Sign,
		"with":         (*cli.Whole)(&o.With),
		"mask":         &o.Mask,
		"space":        &spaceName,
	}, func(cmd *cobra.Command, args []string) error {
		if spaceName != "" {
			return exportSpace(cmd, a, spaceName, o.Out, args)
		}
		if len(args) == 0 {
			return env.Usagef("export: name a job, or a space with --space")
		}
		if cmd.Flags().Changed("version") && o.Version < 1 {
			return env.Usagef(
				"--version %d: versions are numbered from 1; mirrord status JOB --versions lists them", o.Version)
		}
		if cmd.Flags().Changed("mask") && len(o.Mask) == 0 {
			return env.Usagef("--mask: it names nothing; write for example --mask images,application/pdf")
		}
		o.Job, o.Stream = args[0], a.Stdout
		return export(cmd.Context(), a, o)
	})
	cmd.Long = strings.Replace(cmd.Long, "FORMS", env.Joined(archive.Docs(), "or"), 1)
	cli.Complete(cmd, "version", a.CompleteVersionFlag)
	cmd.Flag("format").Usage = "`FORMAT`: " + env.Joined(archive.Names(), "or") +
		" (default: by the name of FILE, else phm)"
	return cmd
}

// export says what was written; nothing of what went to standard output.
func export(ctx context.Context, a *cli.CLI, r archives.ExportRequest) error {
	environ, done := a.AppWithNote()
	x, err := archives.Export(ctx, environ, r)
	done()
	if err != nil || x == nil {
		return err
	}
	return a.Show("export", x)
}
