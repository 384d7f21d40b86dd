// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/app/files"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/testing/apptest"
	"mirrord/testing/phmtest"
)

// An export ends when it is interrupted after the last file was read, too: while a ZIM file is read for its
// sum, and while it goes to a stream.
func TestExportInterruptedAtItsEnd(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	r := ExportRequest{
		Job:    "site",
		Format: "zim",
		Out:    "-",
		Stream: new(bytes.Buffer),
	}
	a.Note = func(line string) { // of so small a mirror only the end is said
		stop()
	}
	if _, err := Export(ctx, a, r); !errors.Is(err, context.Canceled) {
		t.Errorf("after the last file: %v", err)
	}
	stop()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	in := files.InterruptibleFile{File: f, Ctx: ctx}
	if _, err := in.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := in.ReadAt(make([]byte, 2), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	if _, err := in.Write([]byte("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("written: %v", err)
	}
}

// No file is begun that has no room: neither a whole one nor what an older one does not have.
func TestExportNeedsRoom(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.phm")
	old := fstest.MapFS{phm.FilesName: {Data: []byte{}}}
	for size, want := range map[int64]bool{1: false, 1 << 60: true} {
		files := map[string][]byte{"index.html": []byte("x"), "z.bin": []byte("z")}
		tree := phmtest.Tree(t, time.Unix(1e9, 0), files)
		text := string(tree[phm.FilesName].Data)
		i := strings.Index(text, `"path":"z.bin"`)
		if i < 0 || !strings.Contains(text[i:], `"size":1`) {
			t.Fatal(text)
		}
		line := strings.Replace(text[i:], `"size":1`, `"size":`+strconv.FormatInt(size, 10), 1)
		tree[phm.FilesName] = &fstest.MapFile{Data: []byte(text[:i] + line)}
		err := roomForDelta(out, old, tree)
		if (err != nil) != want || (want && !strings.Contains(err.Error(), "free some space")) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := roomForDelta(out, tree, tree); err != nil {
			t.Errorf("%d bytes that the base has: %v", size, err)
		}
	}
}

// Web archives are refused only where they cannot fit: text may come to a fortieth.
func TestCaptureRoom(t *testing.T) {
	dir := t.TempDir()
	free, err := disk.FreeBytes(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := captureExport{o: ExportRequest{Out: filepath.Join(dir, "x.warc.gz")}}
	for _, c := range []struct {
		text, packed int64
		fits         bool
	}{{free * 40, 0, true}, {free * 80, 0, false}, {0, free * 2, false}, {free * 20, free / 4, true}} {
		x.counts = captureCounts{Bytes: c.text + c.packed, Packed: c.packed}
		if err := x.room(); (err == nil) != c.fits {
			t.Errorf("%+v of %d: %v", c, free, err)
		}
	}
}
