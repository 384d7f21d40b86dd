// SPDX-License-Identifier: Apache-2.0

package urls

// KnownURLs is what a run knows of URLs. It is safe for concurrent use.
type KnownURLs struct {
	Table      *Table
	Traits     Traits
	Provenance Provenance
	Counts     Counts
	Notes      Notes
	Waits      Waits         // URLs that asked to wait, of this run and of earlier ones
	Silent     SilentOrigins // servers without an answer in several runs
}
