// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/apptest"
)

// A refused input is named with the byte from which on it is wrong, or with a remedy.
func TestRefusedInputs(t *testing.T) {
	block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\npage"
	record := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.test/\r\n"+
		"WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, strings.Repeat(record, 3))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	member := packed.String()
	dir := t.TempDir()
	for name, x := range map[string]struct{ text, want string }{
		"several.warc.gz": {member[:len(member)-4],
			fmt.Sprintf("good up to byte %d: unexpected EOF", len(member)-4)},
		"junk.warc": {"junk before\n" + record, `it begins with "junk before`},
		"page.mht": {"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n" +
			"Content-Type: text/html\nContent-Location: http://h.test/\n\npage", "offset 129: the last border"},
		"folder/page.html": {"page", "name the URL that was fetched"},
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		apptest.Put(t, filepath.Dir(file), filepath.Base(file), x.text)
		if filepath.Dir(file) != dir {
			file = filepath.Dir(file)
		}
		r := ImportRequest{Files: []string{file}, As: "m"}
		_, err := ImportAny(t.Context(), apptest.TestApp(t.TempDir()), r)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v; want %q", name, err, x.want)
		}
	}
}
