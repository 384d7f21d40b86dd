// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mirrord/testing/apptest"
)

// A site in Latin-1 has names that are no UTF-8.
func TestImportWgetLatin1(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": `<a href="%E9t%E9.html">`, "\xe9t\xe9.html": "summer",
	} {
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		if errors.Is(err, syscall.EILSEQ) {
			t.Skip(err) // the file system has names in UTF-8 only
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a := apptest.TestApp(t.TempDir())
	r := ImportRequest{Files: []string{dir}, As: "old", URL: "http://h.test/"}
	if m, err := ImportAny(t.Context(), a, r); err != nil || m.Versions[0].Files != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
}
