// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/console"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
)

// OpenCommand opens the console, or the published pages of a mirror, in a browser.
func OpenCommand(a *cli.CLI) *cobra.Command {
	r := control.OpenRequest{Role: console.Operate.String()}
	return a.Command("open", cli.Flags{"role": &r.Role}, func(cmd *cobra.Command, args []string) error {
		var link control.OpenLink
		var err error
		if len(args) == 0 {
			link, err = consoleLink(cmd.Context(), a, r)
		} else {
			var file string
			file, err = look.EntryFile(a.App(), strings.TrimSuffix(args[0], scheduler.Suffix))
			link.URL = fileURL(file)
		}
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.PrintJSON(link)
		}
		a.Printf("%s\n", link.URL)
		return browse(cmd.Context(), a, link.URL)
	})
}

// browse opens an address in the browser of the user's desktop, if there is one.
func browse(ctx context.Context, a *cli.CLI, address string) error {
	opener, err := exec.LookPath("xdg-open")
	if err != nil || a.Table == nil || !hasDesktop(os.Geteuid(), a.App().LookupEnv) {
		return nil
	}
	if err := exec.CommandContext(ctx, opener, address).Run(); err != nil {
		return fmt.Errorf("%s: %w; open the address yourself", opener, err)
	}
	return nil
}

// hasDesktop reports whether a user, who is not root, has a display.
func hasDesktop(user int, lookup func(string) (string, bool)) bool {
	x, _ := lookup("DISPLAY")
	wayland, _ := lookup("WAYLAND_DISPLAY")
	return user != 0 && x+wayland != ""
}
