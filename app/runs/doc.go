// SPDX-License-Identifier: Apache-2.0

// Package runs makes runs of jobs and mirrors without a job (get).
//
// RunNow makes one run in this process, with the hooks of the job and the tree that it publishes; Get makes
// one in a directory or a file of its own. Preview says what a first run would fetch and how large it would
// be; Prices measures what the fixed costs of a request are; Rollback publishes an older version again.
package runs
