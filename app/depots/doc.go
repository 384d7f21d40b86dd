// SPDX-License-Identifier: Apache-2.0

// Package depots moves mirrors between a state and a depot, which is a store that several machines share.
//
// It checks mirrors in and out, removes what no version needs, and reads from a depot what a check-out has
// left in it (LeftBehind).
package depots
