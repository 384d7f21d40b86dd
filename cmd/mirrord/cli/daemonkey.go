// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"strings"
	"time"

	"mirrord/job"
)

// daemonKeys describes the keys of daemon.toml, in the order of the reference, a line each: the flag that
// sets the same, with "live" when a reload puts it in force and "stays" when the flag is as good as the key;
// name, type, example and a sentence. A flag alone has no key.
//
//go:embed daemonkeys.txt
var daemonKeys string

// DaemonKey is a key of daemon.toml and the flag that sets the same. Without a key the flag is all there is.
type DaemonKey struct {
	job.Key
	Flag  string
	Field any  // pointer to the variable of the flag
	Live  bool // a reload puts it in force
	Stays bool // the flag is as good as the key
}

// Span is a time in the units of job files.
type Span time.Duration

// DaemonKeys returns the keys of daemon.toml for the variables of flags.
func DaemonKeys(flags Flags) (all []DaemonKey) {
	for line := range strings.Lines(daemonKeys) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		flag, mark, _ := strings.Cut(f[0], " ")
		k := DaemonKey{
			Flag:  flag,
			Field: flags[flag],
			Live:  mark == "live",
			Stays: mark == "stays",
		}
		if s, is := k.Field.(*Span); is {
			k.Field = (*time.Duration)(s)
		}
		if len(f) > 1 {
			k.Name, k.Type, k.Example, k.Doc = f[1], f[2], f[3], f[4]
		}
		all = append(all, k)
	}
	return all
}
