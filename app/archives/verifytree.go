// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"io/fs"

	"mirrord/mirror/report"
	"mirrord/phm"
)

// VerifyTree checks a PHM directory, with the links of its documents or without.
func VerifyTree(ctx context.Context, fsys fs.FS, links bool) (*phm.Report, error) {
	if links {
		return report.VerifyTree(ctx, fsys)
	}
	return phm.Verify(fsys, phm.VerifyOptions{})
}
