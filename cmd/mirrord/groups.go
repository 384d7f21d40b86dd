// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"mirrord/cmd/mirrord/archives"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/cmd/mirrord/daemon"
	"mirrord/cmd/mirrord/jobs"
	"mirrord/cmd/mirrord/mirror"
)

// commandGroup is a part of the list of commands.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups are the commands by purpose. Commands for tests and packagers are in no
// group.
func commandGroups(a *cli.CLI) []commandGroup {
	return []commandGroup{
		{"First hour", []*cobra.Command{
			daemon.DemoCommand(a), mirror.GetCommand(a), jobs.InitCommand(a), jobs.CheckCommand(
				a), daemon.ServeCommand(a),
		}},
		{"Look", []*cobra.Command{
			jobs.StatusCommand(a), daemon.OpenCommand(a), mirror.FindCommand(a), jobs.PlanCommand(a),
			mirror.ExplainCommand(a),
			mirror.DiffCommand(a), mirror.VerifyCommand(a), mirror.RepairCommand(a), archives.SpaceCommand(a),
			jobs.EvolutionCommand(a), jobs.RulesCommand(a), mirror.ReplicasCommand(a),
		}},
		{"Decide", []*cobra.Command{
			jobs.AcceptCommand(a), mirror.RollbackCommand(a), mirror.GCCommand(a), jobs.RenameCommand(
				a), jobs.RemoveCommand(a),
			mirror.ForgetCommand(a), jobs.TuneCommand(a),
		}},
		{"Run", []*cobra.Command{
			jobs.RunNowCommand(a), jobs.CancelCommand(a), jobs.PauseCommand(a, "pause", true),
			jobs.PauseCommand(a, "resume", false),
		}},
		{"Archives", []*cobra.Command{
			archives.ExportCommand(a), archives.ImportCommand(a), cluster.Command(a),
		}},
		{"Daemon", []*cobra.Command{
			daemon.Command(a), daemon.ConsoleCommand(a),
		}},
	}
}
