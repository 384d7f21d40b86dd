// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"io"
)

// verifyArchive is Verify for a PHM that is one file. It fails also when Open refuses it.
func verifyArchive(r io.ReaderAt, size int64, l Limits, o VerifyOptions) (*Report, error) {
	form, err := Open(r, size, l)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return Verify(form, o)
}
