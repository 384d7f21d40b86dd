// SPDX-License-Identifier: Apache-2.0

// Package version says which mirrord this is. Number is the one source of the version: the binary, the
// packages, the image and the top section of CHANGELOG.md agree with it, and a test holds them to that.
package version

import (
	"runtime/debug"
	"strings"
)

// Number is the version by semver.org, without a leading "v".
const Number = "0.2.0"

// Text returns the version with what the binary was built from: "0.2.0 (commit 0363db7c33aa, go1.26.8)". The
// commit is what the go command recorded at the build. It is missing when the source was not a git checkout
// or the program was started by go run.
func Text() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	return text(bi)
}

func text(bi *debug.BuildInfo) string {
	var from []string
	setting := map[string]string{}
	for _, s := range bi.Settings {
		setting[s.Key] = s.Value
	}
	if commit := setting["vcs.revision"]; len(commit) >= 12 {
		commit = "commit " + commit[:12]
		if setting["vcs.modified"] == "true" {
			commit += " with changes"
		}
		from = append(from, commit)
	}
	if bi.GoVersion != "" {
		from = append(from, bi.GoVersion)
	}
	if len(from) == 0 {
		return Number
	}
	return Number + " (" + strings.Join(from, ", ") + ")"
}
