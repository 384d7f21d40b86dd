// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
)

func UserCommand(a *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "user",
		Long: `Make, list, change and remove users who log in to the console with a password.

The console needs an address that they reach, and TLS: mirrord daemon --console. Guide: docs/console.md.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(userAddCommand(a), userListCommand(a), userRoleCommand(a), userPasswordCommand(a),
		userRemoveCommand(a))
	return cmd
}

// stdinPassword reads a password from a line of standard input; "" when none was wanted.
func stdinPassword(a *cli.CLI, wanted bool) (string, error) {
	if !wanted {
		return "", nil
	}
	line, err := bufio.NewReader(io.LimitReader(a.Stdin, 4<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", env.Usagef("--stdin: standard input has no password")
	}
	return line, nil
}

func printPassword(a *cli.CLI, u *jobs.UserInfo) {
	if u.Password == "" {
		return
	}
	a.Printf("%s\n", u.Password)
}

func userAddCommand(a *cli.CLI) *cobra.Command {
	role, stdin := "", false
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a user",
		Long: `Make a user of the console, and print a password. It works for a week, and only for choosing another one, which only
the user knows.`,
		Example: `  mirrord console user add ann --role operate
  pass show mirrord/bob | mirrord console user add bob --stdin`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			password, err := stdinPassword(a, stdin)
			if err != nil {
				return err
			}
			u, err := jobs.AddUser(a.App(), args[0], role, password)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(u)
			}
			printPassword(a, u)
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "role", "read", "`ROLE` of the user: read, order or operate")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the password from standard input, and keep it")
	return cmd
}

func userListCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List users",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := jobs.Users(a.App())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(append([]jobs.UserInfo{}, all...))
			}
			if len(all) == 0 {
				a.Printf("no users; mirrord console user add NAME makes one\n")
				return nil
			}
			rows := cli.Table{{"NAME", "ROLE", "PASSWORD"}}
			for _, u := range all {
				set := "of " + u.Changed.Format(time.DateOnly)
				if u.First {
					set += ", to be replaced by the user"
				}
				rows = append(rows, []string{u.Name, u.Role, set})
			}
			return rows.Write(a, nil)
		},
	}
}

func userRoleCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "role NAME ROLE",
		Short: "Change what a user may do: read, order or operate",
		Args:  cobra.ExactArgs(2),
		RunE:  func(_ *cobra.Command, args []string) error { return jobs.SetRole(a.App(), args[0], args[1]) },
	}
}

func userPasswordCommand(a *cli.CLI) *cobra.Command {
	stdin := false
	cmd := &cobra.Command{
		Use:   "password NAME",
		Short: "Make a new password for a user, such as one who lost it",
		Long: `Make a new password for a user, and print it, as mirrord console user add does. The old one works no more, and all sessions of
the user end.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			password, err := stdinPassword(a, stdin)
			if err != nil {
				return err
			}
			u, err := jobs.SetPassword(a.App(), args[0], password)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(u)
			}
			printPassword(a, u)
			return nil
		},
	}
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the password from standard input, and keep it")
	return cmd
}

func userRemoveCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a user; all sessions of the user end",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return jobs.RemoveUser(a.App(), args[0]) },
	}
}
