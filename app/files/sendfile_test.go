// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"mirrord/archive"
	"mirrord/phm"
)

// An archive that is made in a temporary file arrives complete at any kind of destination.
func TestPackStream(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	form := archive.Form{Placed: true, Pack: func(w io.Writer, _ fs.FS, _ archive.Packing) (*phm.Meta, error) {
		_, err := w.Write(want)
		return nil, err
	}}
	stream := func(ctx context.Context, w io.Writer) error {
		return PackStream(ctx, w, fstest.MapFS{}, form, archive.Packing{})
	}
	for name, flag := range map[string]int{"file": 0, "appended file": os.O_APPEND} {
		path := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(int64(len("before")), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(stream(t.Context(), f), f.Close()); err != nil {
			t.Fatal(name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "before"+string(want) {
			t.Errorf("%s: %d bytes of %d: %v", name, len(got), len("before")+len(want), err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- errors.Join(stream(t.Context(), w), w.Close()) }()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("pipe: %d bytes of %d: %v", len(got), len(want), err)
	}
	if err := errors.Join(<-failed, r.Close()); err != nil {
		t.Error("pipe:", err)
	}
	if r, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if err := stream(t.Context(), w); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a pipe without a reader: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := stream(ended, w); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
