// SPDX-License-Identifier: Apache-2.0

// Package cli has what all commands share: the environment of the process and the global flags, and how
// results,
// progress, tables and hints are printed. A command takes a CLI and returns an error; package main turns it
// into
// an exit code.
package cli
