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
	cmd := a.Command("user", nil, nil)
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
	role, stdin := "read", false
	return a.Command("user-add", cli.Flags{
		"role":  &role,
		"stdin": &stdin,
	}, func(_ *cobra.Command, args []string) error {
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
	})
}

func userListCommand(a *cli.CLI) *cobra.Command {
	return a.Command("user-list", nil, func(*cobra.Command, []string) error {
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
	})
}

func userRoleCommand(a *cli.CLI) *cobra.Command {
	return a.Command("role", nil, func(_ *cobra.Command, args []string) error {
		err := jobs.SetRole(a.App(), args[0], args[1])
		if err == nil && !a.JSON {
			a.Printf("user %s: the role is %s now\n", args[0], args[1])
		}
		return err
	})
}

func userPasswordCommand(a *cli.CLI) *cobra.Command {
	stdin := false
	return a.Command("password", cli.Flags{
		"stdin": &stdin,
	}, func(_ *cobra.Command, args []string) error {
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
	})
}

func userRemoveCommand(a *cli.CLI) *cobra.Command {
	return a.Command("user-remove", nil, func(_ *cobra.Command, args []string) error {
		err := jobs.RemoveUser(a.App(), args[0])
		if err == nil && !a.JSON {
			a.Printf("user %s: removed\n", args[0])
		}
		return err
	})
}
