// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mirrord/job"
)

// OldInstead is the annotation of a flag or command that works, is not shown, and says what to write.
const OldInstead = "instead"

// oldFlag hides a flag of a command. It works, with a warning that names what replaces it.
func oldFlag(c *cobra.Command, name, instead string) {
	f := c.Flags().Lookup(name)
	f.Hidden = true
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[OldInstead] = []string{instead}
}

// OldCommand hides a command that has another name by now.
func OldCommand(c *cobra.Command, now string) *cobra.Command {
	c.Hidden = true
	c.Annotations = map[string]string{OldInstead: now}
	return c
}

// OtherName gives a command a name that other programs have for it. It works, and is not listed.
func OtherName(c *cobra.Command, name string) *cobra.Command {
	c.Use = name + strings.TrimPrefix(c.Use, c.Name())
	c.Hidden = true
	return c
}

// TodaysUse is the usage of a command, by today's name of it and of those above it.
func TodaysUse(c *cobra.Command) string {
	for up := c; up != nil; up = up.Parent() {
		now := up.Annotations[OldInstead]
		switch {
		case now == "":
		case now != strings.ToLower(now): // the whole usage, with its arguments
			return "mirrord " + now
		default:
			return "mirrord " + now + strings.TrimPrefix(c.UseLine(), up.CommandPath())
		}
	}
	return c.UseLine()
}

// NoteOld says which old names a command line has, and what to write.
func NoteOld(w io.Writer, c *cobra.Command) {
	for up := c; up != nil; up = up.Parent() {
		if now := up.Annotations[OldInstead]; now != "" {
			fmt.Fprintf(w, "mirrord: note: mirrord %s is an old name and works; the command is mirrord %s\n",
				up.Name(), now)
		}
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if instead := f.Annotations[OldInstead]; len(instead) > 0 {
			fmt.Fprintf(w, "mirrord: note: --%s is an old flag and works; %s\n", f.Name, instead[0])
		}
		sets, isList := f.Value.(pflag.SliceValue)
		if f.Name != "set" || !isList {
			return
		}
		for _, set := range sets.GetSlice() {
			key, _, _ := strings.Cut(set, "=")
			if instead := job.Instead(strings.TrimSpace(key)); instead != "" {
				fmt.Fprintf(w, "mirrord: note: --set %s is an old key and works; %s\n", key, instead)
			}
		}
	})
}
