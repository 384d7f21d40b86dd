// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
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
		return browse(a, link.URL)
	})
}

// browse opens an address in the browser of the user's desktop, if there is one, and does not wait for it.
// Arguments of programs can be read by all users of the machine: an address that logs in is in a file that
// only this user can read.
func browse(a *cli.CLI, address string) error {
	lookup := a.App().LookupEnv
	opener, err := exec.LookPath("xdg-open")
	private, has := lookup("XDG_RUNTIME_DIR")
	if err != nil || !has || a.Table == nil || !hasDesktop(os.Geteuid(), lookup) {
		return nil
	}
	if !strings.HasPrefix(address, "file:") {
		page := filepath.Join(private, "mirrord-open.html")
		if err := os.WriteFile(page, []byte(leadPage(address)), 0o600); err != nil {
			return fmt.Errorf("no browser is started: %w; open the address yourself", err)
		}
		address = fileURL(page)
	}
	c := exec.Command(opener, address)
	if err := c.Start(); err != nil {
		return fmt.Errorf("%w; open the address yourself", err)
	}
	return c.Process.Release()
}

// leadPage is a page that continues at an address.
func leadPage(address string) string {
	return `<!DOCTYPE html><meta charset="utf-8"><title>mirrord</title><meta http-equiv="refresh" content="0; url=` +
		html.EscapeString(address) + `">`
}

// hasDesktop reports whether a user, who is not root, has a display.
func hasDesktop(user int, lookup func(string) (string, bool)) bool {
	x, _ := lookup("DISPLAY")
	wayland, _ := lookup("WAYLAND_DISPLAY")
	return user != 0 && x+wayland != ""
}
