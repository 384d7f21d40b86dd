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

func hookKeys() []Key {
	const (
		words = "path or list of texts"
		how   = " The program and its arguments, without a shell. It gets a JSON object on standard input, and " +
			"MIRRORD_HOOK, MIRRORD_JOB, MIRRORD_VERSION and MIRRORD_DIR (the published tree) in the environment. " +
			"Its output goes into the log."
		risk = "Runs as the daemon's user, in its sandbox: users who may write job files choose it."
	)
	return []Key{
		{
			Name:    "hooks.before",
			Type:    words,
			Example: `["/usr/local/bin/may-mirror", "--nightly"]`,
			Doc: "Run before a run makes requests. Exit code 75 postpones the run; any other failure is " +
				"reported, and the run continues." + how,
			Risk:  risk,
			check: func(j *Job) error { return checkHook(j.Hooks.Before) },
		},
		{
			Name:    "hooks.published",
			Type:    words,
			Example: `["/usr/local/bin/purge-cache"]`,
			Doc: "Run after a version was published, also by accept and rollback. The object names the " +
				"version, the one before, and the files that were added, changed and removed. When it fails, " +
				"or was cut off, the end of the next run repeats it for the version that is then published." + how,
			Risk:  risk,
			check: func(j *Job) error { return checkHook(j.Hooks.Published) },
		},
		{
			Name:    "hooks.after",
			Type:    words,
			Example: `["/usr/local/bin/unmount-store"]`,
			Doc: "Run at the end of each run that hooks.before did not postpone, however it ended; " +
				"MIRRORD_VERDICT has the verdict." + how,
			Risk:  risk,
			check: func(j *Job) error { return checkHook(j.Hooks.After) },
		},
		{
			Name:    "hooks.timeout",
			Type:    "duration",
			Example: `"1h"`,
			Doc: "A hook that takes longer is killed, with all that it started, and has failed. 0s is no " +
				"limit.",
			Risk: "The run, and its place among the runs of the daemon, waits for its hooks.",
		},
	}
}

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
