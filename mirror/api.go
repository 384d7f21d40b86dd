// SPDX-License-Identifier: Apache-2.0

package mirror

import "mirrord/mirror/ledger"

// Note is something that happened to several URLs and that a person should know.
type Note = ledger.Note

// Failure is one URL that could not be had.
type Failure = ledger.Failure
