// SPDX-License-Identifier: Apache-2.0

package job

import (
	"path"
	"strings"
	"time"
)

// Hooks are commands around a run: a program and its arguments each, without a shell; empty for none.
type Hooks struct {
	Before    []string
	Published []string
	After     []string
	Timeout   time.Duration // of each; 0 no limit
}

// Commands returns the hooks that are set, by key.
func (h *Hooks) Commands() map[string][]string {
	out := map[string][]string{}
	for key, args := range map[string][]string{
		"hooks.before":    h.Before,
		"hooks.published": h.Published,
		"hooks.after":     h.After,
	} {
		if len(args) > 0 {
			out[key] = args
		}
	}
	return out
}

// HookPrefix begins the keys that name commands; only a job file may set them.
const HookPrefix = "hooks."

// checkHook checks that a command can be found wherever it is run from.
func checkHook(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !path.IsAbs(args[0]) && strings.ContainsAny(args[0], " |;&$"):
		return problemf(`write a list: ["/usr/local/bin/program", "argument"]; no shell reads it`,
			"%q is a line of the shell", args[0])
	case !path.IsAbs(args[0]):
		return problemf("write the whole path, such as /usr/local/bin/program", "%q is no absolute path", args[0])
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return problemf("", "%q has a zero byte", a)
		}
	}
	return nil
}
