// SPDX-License-Identifier: Apache-2.0

package env

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
)

// An error for a user who may not command the daemon names the group that may, if there is one.
func TestJoinHint(t *testing.T) {
	g, err := user.LookupGroup("daemon")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("only root can give files away")
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		t.Fatal(err)
	}
	const unnamed = 61234
	for _, c := range []struct {
		gid  int
		mode os.FileMode
		want string
	}{
		{gid, 0o750, "sudo usermod -aG daemon $USER"},
		{gid, 0o700, ""},
		{unnamed, 0o750, ""},
		{0, 0o750, ""},
	} {
		dir := t.TempDir()
		if err := os.Chown(dir, 0, c.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		if got := JoinHint(dir); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("group %d, mode %o: %q, want %q", c.gid, c.mode, got, c.want)
		}
	}
}
