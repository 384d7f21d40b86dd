// SPDX-License-Identifier: Apache-2.0

//go:build race

package replicatest

// RaceEnabled says that the race detector makes tests slow.
const RaceEnabled = true
