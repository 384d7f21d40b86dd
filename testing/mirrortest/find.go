// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FindText names the files below a directory that have a text, as they are or in a frame of zstd that needs
// no other one.
func FindText(t testing.TB, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if (err != nil) || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, p)
		}
		for off := 0; ; off++ {
			i := bytes.Index(data[off:], []byte("\x28\xb5\x2f\xfd"))
			if i < 0 {
				return nil
			}
			off += i
			if bytes.Contains(unpack(t, data[off:]), []byte(text)) {
				found = append(found, fmt.Sprintf("%s, frame at %d", p, off))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unpack returns what the frames of zstd at the beginning of some bytes hold, as far as they are good.
func unpack(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, _ := io.ReadAll(io.LimitReader(r, 1<<24))
	return out
}
