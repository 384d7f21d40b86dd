// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"os"
)

// exchangeSlowly swaps two directories in three renames; for a moment there is nothing at b.
func exchangeSlowly(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}
