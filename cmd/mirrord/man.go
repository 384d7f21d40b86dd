// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/version"
	"mirrord/job"
)

// manCommand is for packagers: it writes one manual page per command, or that of job files.
func manCommand(a *cli.CLI) *cobra.Command {
	section := 1
	return a.Command("man", cli.Flags{"section": &section}, func(cmd *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		// A fixed date keeps builds reproducible.
		date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		switch section {
		case 1:
		case 5:
			page := job.ManPage(version.Number, date.Format(time.DateOnly))
			return os.WriteFile(filepath.Join(args[0], "mirrord-job.5"), page, 0o644)
		default:
			return env.Usagef("--section %d: want 1 or 5", section)
		}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		return doc.GenManTree(root, &doc.GenManHeader{
			Title:   "MIRRORD",
			Section: "1",
			Source:  "mirrord",
			Manual:  "mirrord",
			Date:    &date,
		}, args[0])
	})
}
