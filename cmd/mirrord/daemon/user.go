// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"errors"
	"io"
	"strings"

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

// withPassword changes a user with a password, of standard input when it is wanted, and shows one that was
// made.
func withPassword(a *cli.CLI, stdin bool, change func(password string) (*jobs.UserInfo, error)) error {
	password, err := stdinPassword(a, stdin)
	if err != nil {
		return err
	}
	u, err := change(password)
	if err != nil {
		return err
	}
	return a.Show("password", u)
}

func userAddCommand(a *cli.CLI) *cobra.Command {
	role, stdin := "read", false
	return a.Command("user-add", cli.Flags{
		"role":  &role,
		"stdin": &stdin,
	}, func(_ *cobra.Command, args []string) error {
		return withPassword(a, stdin, func(password string) (*jobs.UserInfo, error) {
			return jobs.AddUser(a.App(), args[0], role, password)
		})
	})
}

func userListCommand(a *cli.CLI) *cobra.Command {
	return a.Command("user-list", nil, func(*cobra.Command, []string) error {
		all, err := jobs.Users(a.App())
		if err != nil {
			return err
		}
		return a.Show("users", append([]jobs.UserInfo{}, all...))
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
		return withPassword(a, stdin, func(password string) (*jobs.UserInfo, error) {
			return jobs.SetPassword(a.App(), args[0], password)
		})
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
