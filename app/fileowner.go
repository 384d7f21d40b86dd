// SPDX-License-Identifier: Apache-2.0

package app

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

// fileOwner is a user to whom files belong.
type fileOwner struct {
	uid, gid int
	groups   []int
	name     string // "": it has none
}

func (o fileOwner) String() string { return cmp.Or(o.name, strconv.Itoa(o.uid)) }

// stateOwner is who the daemon of this state runs as: the owner of the directory; where there is none yet,
// the daemon's user of the packages for root, else the caller.
func (a *App) stateOwner() fileOwner {
	me := fileOwner{uid: os.Geteuid(), gid: os.Getegid()}
	if dir, err := a.State(); err == nil {
		if o, ok := ownerOf(dir); ok {
			return o
		}
	}
	if u, err := user.Lookup(daemonUser); err == nil && me.uid == 0 {
		uid, uerr := strconv.Atoi(u.Uid)
		gid, gerr := strconv.Atoi(u.Gid)
		if uerr == nil && gerr == nil {
			return named(fileOwner{uid: uid, gid: gid})
		}
	}
	return named(me)
}

// named adds the name and the groups of a user; one without an entry has its own group only.
func named(o fileOwner) fileOwner {
	o.groups = []int{o.gid}
	u, err := user.LookupId(strconv.Itoa(o.uid))
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
			o.groups = append(o.groups, gid)
		}
	}
	return o
}

// ownerOf returns to whom a file belongs.
func ownerOf(path string) (o fileOwner, ok bool) {
	fi, err := os.Stat(path)
	if err != nil {
		return o, false
	}
	sys, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return o, false
	}
	return named(fileOwner{uid: int(sys.Uid), gid: int(sys.Gid)}), true
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

// actAsOwner makes a process of root one of the user to whom the state belongs: what root left in it the
// daemon could not read. There is no way back.
func (a *App) actAsOwner(dir string) error {
	o, ok := ownerOf(dir)
	if !a.AsOwner || !ok || os.Geteuid() != 0 || o.uid == 0 {
		return nil
	}
	err := syscall.Setgroups(o.groups)
	if err == nil {
		err = syscall.Setgid(o.gid)
	}
	if err == nil {
		err = syscall.Setuid(o.uid)
	}
	if err != nil {
		return fmt.Errorf("act as user %s, to whom %s belongs: %w", o, dir, err)
	}
	return nil
}
