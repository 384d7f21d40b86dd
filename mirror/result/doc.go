// SPDX-License-Identifier: Apache-2.0

// Package result holds what one run came to: its verdict, its summary for people and programs, and why it
// ended early.
//
// It imports neither the engine nor a room of it, so that every room can use a verdict. Stored summaries of
// older versions stay readable (see Summary.UnmarshalJSON).
package result
