// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// A blob of the wrong size, as loss of power can leave, is replaced by the next body with its digest.
func TestBlobWrongSizeIsHealed(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	d := blobOf(t, s, 0, "the right body")
	commit(t, s, 0, newURLs(0, 1), d)
	p := blobFile(s, d.Digest)
	if err := os.Truncate(p, 3); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, s); len(got) != 1 || got[0].Kind != upkeep.BadBlob {
		t.Errorf("verify: %v", got)
	}
	blobOf(t, s, 0, "the right body")
	if got, err := os.ReadFile(p); string(got) != "the right body" {
		t.Errorf("%q, %v", got, err)
	}
}

// When the file system makes no more links to a blob it is copied, with its time.
func TestBlobTooManyLinks(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	d := blobOf(t, s, 0, "popular")
	p := blobFile(s, d.Digest)
	many := t.TempDir()
	limit := 0
	for ; limit < 70000; limit++ { // ext4 stops at 65000
		err := os.Link(p,
			filepath.Join(many, hex.EncodeToString([]byte{byte(limit >> 16), byte(limit >> 8), byte(limit)})))
		if errors.Is(err, syscall.EMLINK) {
			break
		}
		if errors.Is(err, syscall.EXDEV) {
			many = filepath.Join(dir, "many")
			if err = os.Mkdir(many, 0o755); err == nil {
				continue
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	for range 2 {
		if err := w.LinkBlob("img/popular.png", d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if got := readFile(t, tree.Root, "img/popular.png"); got != "popular" {
		t.Errorf("%q", got)
	}
	fi, err := tree.Root.Stat("img/popular.png")
	if err != nil || !fi.ModTime().Equal(at(1000)) {
		t.Errorf("modified %v, %v", fi.ModTime(), err)
	}
	_, links := inode(t, filepath.Join(dir, "sites/x/trees/next/img/popular.png"))
	if copied := links == 1; copied != (limit < 70000) {
		t.Errorf("%d links to a file of which there can be %d", links, limit)
	}
}
