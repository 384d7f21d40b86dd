// SPDX-License-Identifier: Apache-2.0

package env

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// daemonUser is the user that packages make for the daemon.
const daemonUser = "mirrord"

// FileOwner is a user to whom files belong.
type FileOwner struct {
	UID, GID int
	Groups   []int
	name     string // "": it has none
}

func (o FileOwner) String() string { return cmp.Or(o.name, strconv.Itoa(o.UID)) }

// StateOwner is who the daemon of this state runs as: the owner of the directory; if it does not exist yet,
// the daemon's user of the packages for root, else the caller.
func (a *App) StateOwner() FileOwner {
	me := FileOwner{UID: os.Geteuid(), GID: os.Getegid()}
	if dir, err := a.State(); err == nil {
		if o, ok := ownerOf(dir); ok {
			return o
		}
	}
	if u, err := user.Lookup(daemonUser); err == nil && me.UID == 0 {
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil {
			return named(FileOwner{UID: uid, GID: gid})
		}
	}
	return named(me)
}

// named adds the name and the groups of a user; one without an entry has its own group only.
func named(o FileOwner) FileOwner {
	o.Groups = []int{o.GID}
	u, err := user.LookupId(strconv.Itoa(o.UID))
	if err != nil {
		return o
	}
	o.name = u.Username
	ids, err := u.GroupIds()
	if err != nil {
		return o
	}
	for _, id := range ids {
		if gid, err := strconv.Atoi(id); err == nil {
			o.Groups = append(o.Groups, gid)
		}
	}
	return o
}

// ownerOf returns to whom a file belongs.
func ownerOf(path string) (o FileOwner, ok bool) {
	fi, err := os.Stat(path)
	if err != nil {
		return o, false
	}
	sys, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return o, false
	}
	return named(FileOwner{UID: int(sys.Uid), GID: int(sys.Gid)}), true
}

// JoinHint says, behind what root may do, which group lets the caller command the daemon whose state
// directory or socket this is. It is "" when none does: it belongs to no group that has a name and any rights
// there, or the caller is in that one.
func JoinHint(path string) string {
	fi, err := os.Stat(path)
	if err != nil {
		return ""
	}
	sys, ok := fi.Sys().(*syscall.Stat_t)
	mine, err := os.Getgroups()
	if !ok || err != nil || sys.Gid == 0 || fi.Mode()&0o070 == 0 ||
		slices.Contains(append(mine, os.Getegid()), int(sys.Gid)) {
		return ""
	}
	g, err := user.LookupGroupId(strconv.Itoa(int(sys.Gid)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", or join the group %s: sudo usermod -aG %s $USER, and log in again", g.Name, g.Name)
}

// ActAsOwner makes a process of root one of the user to whom the state belongs: what root left in it the
// daemon could not read. There is no way back.
func (a *App) ActAsOwner(dir string) error {
	o, ok := ownerOf(dir)
	if !a.AsOwner || !ok || os.Geteuid() != 0 || o.UID == 0 {
		return nil
	}
	err := syscall.Setgroups(o.Groups)
	if err == nil {
		err = syscall.Setgid(o.GID)
	}
	if err == nil {
		err = syscall.Setuid(o.UID)
	}
	if err != nil {
		return fmt.Errorf("act as user %s, to whom %s belongs: %w", o, dir, err)
	}
	return nil
}
