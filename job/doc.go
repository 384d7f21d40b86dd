// SPDX-License-Identifier: Apache-2.0

// Package job reads job files: what to mirror, when, how politely and what to do with the result.
//
// A job file is strict TOML, one file per job, named NAME.toml. Parse reports every error of a file at once,
// each with file, line, column and where possible a hint; an unknown key is an error. keys.toml is
// the one place that knows the keys: parsing, --set, the effective configuration and the reference in
// docs/jobs.md all follow it.
//
// Guarantees: a *Job that Parse returned has passed every check of this package, so that its schedule fires,
// its window opens, its URLs are web URLs and its numbers lie in their ranges. Secrets are never in a Job,
// only the name of the file or of the environment variable that holds them. The package reads no file, no
// clock and no environment, with one exception: package time says whether a time zone exists.
//
// Loading a directory of job files is left to the caller, as is the next time of a schedule.
package job
