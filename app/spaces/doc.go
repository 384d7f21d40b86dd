// SPDX-License-Identifier: Apache-2.0

// Package spaces keeps the spaces of a state: trees in which several mirrors link to one another.
//
// A space is made again from the published trees of its mirrors after a run, an import, a removal or a repair
// of one of them. For a URL that a mirror of the space has lost, the last stored body is kept in the space.
// Package phm/space has the format; this package finds the mirrors and decides when a space is due.
package spaces
