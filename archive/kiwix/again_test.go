// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mirrord/internal/inorder"
	"mirrord/phm"
	"mirrord/testing/phmtest"
)

// Files of the same bytes share a blob, regardless of their types, and come back each as it was. A page
// whose links are repaired has a blob of its own.
func TestShared(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func() []byte {
		b := make([]byte, 50_000)
		for i := range b {
			b[i] = byte('a' + random.Uint32()%16)
		}
		return b
	}
	page, picture := noise(), noise()
	files := map[string][]byte{
		"index.html":    []byte("<title>Start</title>"),
		"broken.html":   []byte(`<a href="/none.html">`),
		"d/broken.html": []byte(`<a href="/none.html">`),
		"d/empty.css":   nil,
		"empty.css":     nil,
	}
	for i := range 20 {
		files[fmt.Sprintf("d%d/page.html", i)] = page
		files[fmt.Sprintf("d%d/page.txt", i)] = page
		files[fmt.Sprintf("d%d/picture.png", i)] = picture
	}
	tree := phmtest.Tree(t, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), files)
	data := read(t, pack(t, tree, Options{Crew: inorder.Crew{Go: func(f func()) { go f() }, Size: 3}}))
	if most := len(page) + len(picture) + 40_000; len(data) > most {
		t.Errorf("%d bytes, over %d", len(data), most)
	}
	if !bytes.Equal(data, read(t, pack(t, tree, Options{}))) {
		t.Error("two files of one tree differ")
	}
	got, err := Open(bytes.NewReader(data), int64(len(data)), phm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := phm.Verify(got, phm.VerifyOptions{}); err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
}
