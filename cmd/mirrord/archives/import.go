// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/phm/space"
)

func ImportCommand(a *cli.CLI) *cobra.Command {
	var r archives.ImportRequest
	var delta archives.ApplyRequest
	return a.Command("import", cli.Flags{
		"output":  &delta.Out,
		"as":      &r.As,
		"job":     &r.Job,
		"url":     &r.URL,
		"delta":   &delta.Delta,
		"lenient": &r.Lenient,
	}, func(cmd *cobra.Command, args []string) error {
		if delta.Delta != "" {
			if len(args) != 1 {
				return env.Usagef("import --delta: name the one archive that it is for")
			}
			delta.Old = args[0]
			return applyDelta(cmd.Context(), a, delta)
		}
		if len(args) == 1 && space.IsArchive(args[0]) {
			return importSpace(cmd, a, r, args[0])
		}
		if r.As == "" {
			return env.Usagef("import: --as JOB is missing")
		}
		r.Files = args
		environ, done := a.AppWithNote()
		m, err := archives.ImportAny(cmd.Context(), environ, r)
		done()
		if err != nil {
			return err
		}
		return printImported(a, args[0], m)
	})
}

// printImported says what was imported.
func printImported(a *cli.CLI, name string, m *archives.Imported) error {
	url := cmp.Or(m.URL, "URL")
	if strings.ContainsAny(url, "&?*;()'$!~[]") { // as a shell takes it
		url = "'" + strings.ReplaceAll(url, "'", "%27") + "'"
	}
	var result any = m
	if m.Meta != nil {
		result = m.Meta
	}
	return a.Show("import", result, struct {
		*archives.Imported
		Name, Init string
	}{m, name, "mirrord init " + url + " --as " + m.Job})
}
