// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"io"

	"mirrord/cluster/objects"
)

// OpenArchive reads an archive of a store.
func OpenArchive(ctx context.Context, s objects.Store, name string, size int64) (io.ReadSeeker, error) {
	return newDepotShelf(s).open(ctx, name, size)
}
