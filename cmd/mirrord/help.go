// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/cmd/mirrord/cli"
	"mirrord/docs"
	"mirrord/internal/version"
)

// helpCommand is the help of cobra, with the pages of the guide; an unknown command is an error of usage.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND|TOPIC]",
		Short:             "Help about any command, or a page of the guide",
		Long:              "Explain a command, or show a page of the guide:\n\n" + topics(),
		ValidArgsFunction: completeCommand,
		// no command has begun
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			topic, unknown := docs.Plain(strings.Join(args, " "))
			isCommand := err == nil && about != c.Root()
			if len(args) > 0 && unknown == nil && !isCommand {
				_, err = fmt.Fprintln(c.OutOrStdout(), cli.Wrap(topic))
				return err
			}
			if err != nil {
				return err
			}
			if about.HasSubCommands() && len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			if err := about.Help(); err != nil || unknown != nil || len(args) == 0 {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "\n%s\n", cli.Wrap(topic))
			return err
		},
	}
}

// topics lists the pages of the guide.
func topics() string {
	var b strings.Builder
	for _, page := range docs.Contents() {
		fmt.Fprintf(&b, "  %-16s  %s\n", page, docs.Title(page))
	}
	return strings.TrimRight(cli.Wrap(b.String()), "\n")
}

// completeCommand lists the commands below those of args.
func completeCommand(
	c *cobra.Command, args []string, begun string,
) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	above, _, err := c.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, below := range above.Commands() {
		if below.IsAvailableCommand() && strings.HasPrefix(below.Name(), begun) {
			names = append(names, cobra.CompletionWithDesc(below.Name(), below.Short))
		}
	}
	for _, page := range docs.Contents() {
		if above == c.Root() && strings.HasPrefix(page, begun) {
			names = append(names, cobra.CompletionWithDesc(page, docs.Title(page)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// nameUsage makes the errors about arguments of a command, and of those below it, say of which command and
// what it takes.
func nameUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return fmt.Errorf("%s: %w; usage: %s", c.Name(), err, cli.TodaysUse(c))
			}
			return nil
		}
	}
	for _, below := range c.Commands() {
		nameUsage(below)
	}
}

// versionCommand is what many look for before they know of --version.
func versionCommand(a *cli.CLI) *cobra.Command {
	return a.Command("version", nil, func(*cobra.Command, []string) error {
		a.Printf("mirrord %s\n", version.Text())
		return nil
	})
}

// refuseUnknown makes a command that has only commands below it show no help for one that it does not have,
// and breaks the lines of what it shows.
func refuseUnknown(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if unknownBelow(c) == nil {
			c.Long = cli.Wrap(c.Long)
			help(c, args)
		}
	})
}

// unknownBelow returns the error about a command that a group of commands was asked for and does not have.
func unknownBelow(c *cobra.Command) error {
	if c.Runnable() || !c.HasSubCommands() || c.Flags().Changed("help") || c.Flags().NArg() == 0 {
		return nil
	}
	return unknownCommand(c, c.Flags().Arg(0))
}

// unknownCommand is the error about a command that c does not have, in the words of cobra.
func unknownCommand(c *cobra.Command, name string) error {
	const farthest = 2 // edits between two names that are near
	c.SuggestionsMinimumDistance = max(c.SuggestionsMinimumDistance, farthest)
	near := c.SuggestionsFor(name)
	if len(near) == 0 {
		return fmt.Errorf("unknown command %q for %q", name, c.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q\n\nDid you mean this?\n\t%s", name, c.CommandPath(),
		strings.Join(near, "\n\t"))
}
