// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/ledger"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// observe notes in the record of a body whether it is another one than before, and judges the validators of
// the old one. only says that the body differs in nothing but what may change by itself; now knows what that
// is then.
func observe(now, old *store.Resource, only bool, as *ledger.Account) {
	if !old.InSet || old.Body == store.NoBody || old.Digest == [32]byte{} {
		return
	}
	changed := old.Digest != now.Digest
	now.Observe(changed)
	if !changed || only {
		return
	}
	now.Volatile = old.Volatile.Broken()
	if as.Stale = spare.StaleValidators(now, old); as.Stale {
		const what = "validators that stayed the same when the content changed are not sent any more"
		as.Notes = append(as.Notes, what)
	}
}
