// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"os"

	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/phm"
)

// readBack checks a packed mirror as import and verify do: its directory, names, sizes and digests. It is
// read from the disk, not from what the system still has of it in memory, where the system can do that.
func readBack(ctx context.Context, f *os.File, form archive.Form, want *phm.Meta, l phm.Limits) error {
	if err := f.Sync(); err != nil {
		return err
	}
	DropCached(f)
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	report, err := form.Check(regular.UntilAt(ctx, f), fi.Size(), l)
	if err == nil {
		err = report.Err()
	}
	if err == nil && (report.Meta.TableSum != want.TableSum || report.Files != want.Files) {
		err = fmt.Errorf("%w: it has another file table", phm.ErrDamaged)
	}
	if over := ctx.Err(); over != nil {
		return over
	}
	if err != nil {
		return fmt.Errorf("what was written does not read back: %w", err)
	}
	return nil
}
