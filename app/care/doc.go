// SPDX-License-Identifier: Apache-2.0

// Package care verifies mirrors, repairs them and takes out of them what should not be kept.
//
// Verify reads a mirror and reports every file that is missing or differs; Mend fetches or copies those
// again, and Rebuild makes the published tree anew. A scrub reads all bodies of a state within a period, at a
// rate at which no other process feels it. Gc removes old versions and unused bodies; Forget removes a page
// or an address from all versions.
package care
