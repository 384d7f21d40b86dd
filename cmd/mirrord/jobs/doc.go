// SPDX-License-Identifier: Apache-2.0

// Package jobs has the commands that act on jobs: make, check, run, accept, pause, plan, status.
package jobs
