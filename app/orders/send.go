// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"mirrord/internal/regular"
)

// downloadFor is how long a download may take.
const downloadFor = 24 * time.Hour

// SendArchive sends an archive of an order to a user who may see it: from the disk of this node, or from the
// depot. Browsers save it and never show it.
func (s *Orders) SendArchive(w http.ResponseWriter, r *http.Request, by User, ref, name string) error {
	x, err := s.Seen(by, ref)
	if err != nil {
		return err
	}
	f, err := s.archive(r.Context(), &x, name)
	if err != nil {
		return err
	}
	defer f.Close()
	// a server that cannot move its deadline sends what it can
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadFor))
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	http.ServeContent(w, r, "", x.Ended, f)
	return nil
}

// archive opens an archive of an order.
func (h *shelf) archive(ctx context.Context, x *Ordered, name string) (io.ReadSeekCloser, error) {
	i := slices.IndexFunc(x.Result.Archives, func(a ArchiveFile) bool { return a.Name == name })
	if x.State != Done || i < 0 {
		return nil, ErrNone
	}
	id := x.OrderID
	if x.Same != 0 {
		id = x.twinID()
	}
	dir, err := h.folder(id)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(filepath.Join(dir, filesDir, name))
	if errors.Is(err, fs.ErrNotExist) && h.inDepot(x) {
		return h.depot.open(ctx, folderOf(id)+x.Depot+"/"+url.PathEscape(name), x.Result.Archives[i].Bytes)
	}
	if err != nil { // not as a file that is nil
		return nil, err
	}
	return f, nil
}
