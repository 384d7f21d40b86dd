// SPDX-License-Identifier: Apache-2.0

// Package life removes, renames and pauses jobs together with their mirrors, and sends the messages of jobs.
//
// Each operation changes the job file and the state so that a crash between the two is repaired by repeating
// it.
package life
