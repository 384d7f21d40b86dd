// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/phm"
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

// No folder is begun that has no room.
func TestExportNeedsRoom(t *testing.T) {
	folder, _ := archive.Find("dir")
	o := exporting{ExportRequest: ExportRequest{Out: filepath.Join(t.TempDir(), "x")}, form: folder}
	for size, want := range map[int64]bool{1: false, 1 << 60: true} {
		tree := phmtest.Tree(t, time.Unix(1e9, 0), map[string][]byte{"index.html": []byte("x")})
		m, err := phm.OpenMeta(tree)
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if m.Bytes = size; phm.WriteMeta(&raw, m) != nil {
			t.Fatal("no phm.json")
		}
		tree[phm.MetaName] = &fstest.MapFile{Data: raw.Bytes()}
		err = o.room(tree)
		if (err != nil) != want || (want && !strings.Contains(err.Error(), "free some space")) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
