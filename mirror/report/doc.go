// SPDX-License-Identifier: Apache-2.0

// Package report answers questions about a mirror from the stored records: why a URL is in it, what the next
// run would request, how its directories change, which rules skip them, and whether it is whole.
//
// It reads a site as store.State.ViewSite opens it, also during a run, and needs no engine: it makes
// no request and changes nothing, but for the notes of damage that Verify leaves for the next run. Its
// values have JSON keys that scripts rely on; WriteText writes them for a person.
package report
