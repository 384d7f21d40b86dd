// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mirrord/app/runs"
	"mirrord/archive"
	"mirrord/internal/inorder"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/testing/apptest"
)

// What an export that is interrupted has written to a stream is no whole file of the form: its reader does
// not learn how the export ended.
func TestExportCutShort(t *testing.T) {
	const files, size = 40, 2 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := -1
		if fmt.Sscanf(r.URL.Path, "/f%d.bin", &n); n >= 0 {
			w.Header().Set("Content-Type", "application/octet-stream")
			io.CopyN(w, rand.NewChaCha8([32]byte{byte(n)}), size)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range files {
			fmt.Fprintf(w, "<a href=f%d.bin>%d</a>\n", i, i)
		}
	}))
	t.Cleanup(srv.Close)
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "site.toml", "url = \""+srv.URL+"/\"\npolite.delay = \"0s\"\npolite.factor = 0\n")
	if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil || !sum.Published {
		t.Fatalf("run: %+v, %v", sum, err)
	}
	for _, form := range archive.Exports() {
		if form.Folder() || form.Placed {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		out := &meanwhile{after: 1000, do: cancel}
		_, err := Export(ctx, a, ExportRequest{
			Job:    "site",
			Out:    "-",
			Stream: out,
			Format: form.Name,
		})
		cancel()
		if err == nil || out.do != nil || out.Len() > files*size*3/4 { // what was being packed is written
			t.Errorf("%s: %d bytes, %v", form.Name, out.Len(), err)
		}
		if whole(form, out.Bytes()) {
			t.Errorf("%s: %d bytes look whole", form.Name, out.Len())
		}
	}
}

// whole reports whether other programs take a file for one that was not cut short.
func whole(form archive.Form, file []byte) bool {
	r := bytes.NewReader(file)
	if form.Verify != nil {
		report, err := form.Verify(r, r.Size(), inorder.Crew{})
		return err == nil && report.Err() == nil
	}
	if form.Name == "tar.zst" { // the tar file inside may end after any file
		z, err := zstd.NewReader(r)
		if err != nil {
			return false
		}
		defer z.Close()
		_, err = io.Copy(io.Discard, z)
		return err == nil
	}
	_, err := form.Open(r, r.Size(), phm.Limits{})
	return err == nil
}

// fullDisk takes so many bytes.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(d.left, len(p))
	if d.left -= n; n < len(p) {
		return n, &fs.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}
	}
	return n, nil
}

// An export that finds no room says what to do, and calls nothing damaged: no body that it has read in part.
func TestExportNoRoom(t *testing.T) {
	s := MirrorChanging(t)
	for format, room := range map[string]int{"phm": 100, "tar.zst": 100, "warc": 10_000, "wacz": 10_000} {
		_, err := Export(t.Context(), s.App, ExportRequest{
			Job:    "site",
			Out:    "-",
			Stream: &fullDisk{room},
			Format: format,
		})
		if !disk.IsFull(err) || !strings.Contains(err.Error(), "free some space") ||
			strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", format, err)
		}
	}
}
