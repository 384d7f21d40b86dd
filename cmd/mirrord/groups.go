// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// commandGroup is a part of the list of commands.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups are the commands by what somebody wants of them. Commands for tests and packagers are in no
// group.
func commandGroups(a *cli) []commandGroup {
	return []commandGroup{
		{"First hour", []*cobra.Command{
			demoCommand(a), getCommand(a), initCommand(a), checkCommand(a), serveCommand(a),
		}},
		{"Look", []*cobra.Command{
			statusCommand(a), findCommand(a), planCommand(a), explainCommand(a), versionsCommand(a),
			diffCommand(a), verifyCommand(a), repairCommand(a), spaceCommand(a),
			evolutionCommand(a), rulesCommand(a), replicasCommand(a),
		}},
		{"Decide", []*cobra.Command{
			acceptCommand(a), rollbackCommand(a), gcCommand(a), renameCommand(a), removeCommand(a),
			forgetCommand(a), tuneCommand(a),
		}},
		{"Run", []*cobra.Command{
			runNowCommand(a), cancelCommand(a), pauseCommand(a), resumeCommand(a),
		}},
		{"Archives", []*cobra.Command{
			exportCommand(a), importCommand(a), applyCommand(a), clusterCommand(a),
		}},
		{"Daemon", []*cobra.Command{
			daemonCommand(a), openCommand(a), userCommand(a),
		}},
	}
}
