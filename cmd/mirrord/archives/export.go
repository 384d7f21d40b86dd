// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
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
	if a.JSON {
		return a.PrintJSON(x)
	}
	if d := x.Delta; d != nil {
		a.Printf("%s: what version %d has since version %d written to %s: %s in %s, %d removed\n", x.Job,
			x.Version, d.Base, x.Path, count.Of(d.Carried, "file"), cli.BytesText(x.Packed), d.Removed)
		return nil
	}
	packed := ""
	if x.Packed > 0 {
		packed = fmt.Sprintf(", %s packed", cli.BytesText(x.Packed))
	}
	if x.Versions > 0 {
		a.Printf("%s: %s written to %s: %s of %s, %s%s\n", x.Job, versionsText(x), x.Path,
			count.Of(x.Files, "answer"), count.Of(x.Files+x.Revisits, "record"),
			cli.BytesText(x.Bytes), packed)
		if x.Made > 0 {
			a.Printf("  %s not that of the answer, which was not stored\n",
				count.Of(x.Made, "record has a head that is", "records have a head that is"))
		}
		return nil
	}
	a.Printf("%s: version %d written to %s: %s, %s%s\n", x.Job, x.Version, x.Path,
		count.Of(x.Files, "file"), cli.BytesText(x.Bytes), packed)
	if len(x.Masked) > 0 {
		a.Printf("  left out (%s): %s, %s; links to them lead to the site\n", strings.Join(x.Masked, ", "),
			count.Of(x.MaskedFiles, "file"), cli.BytesText(x.MaskedBytes))
	}
	if len(x.Lacks) > 0 {
		a.Printf("  it lacks what was lost on the disk: %s\n", env.Joined(cli.Some(x.Lacks), "and"))
	}
	return nil
}

// versionsText says of which versions a web archive is.
func versionsText(x *archives.Exported) string {
	if x.Versions == 1 {
		return fmt.Sprintf("version %d", x.Version)
	}
	return fmt.Sprintf("%d versions up to %d", x.Versions, x.Version)
}
