// SPDX-License-Identifier: Apache-2.0

// Package jobs does what concerns a job file: it makes, checks and edits it, and runs its hooks.
//
// A check says what the daemon would refuse or warn of, with the daemon's rights: files and directories that
// it could not read or write, addresses that it could not reach, and rules by which pages would leave the
// site. The package also keeps the records of the scheduler in the state, and the files of users and tokens
// of the console.
package jobs
