// SPDX-License-Identifier: Apache-2.0

// Package daemon is the process that runs jobs at their times.
//
// Daemon starts runs by their schedules (package scheduler), answers its socket (it is the control.API),
// keeps the index of pages and the table of replicas fresh, tidies the state, verifies it in the background,
// and sends messages. Package nodes makes one of many daemons.
package daemon
