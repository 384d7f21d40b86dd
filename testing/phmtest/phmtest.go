// SPDX-License-Identifier: Apache-2.0

// Package phmtest makes small PHMs for tests.
package phmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"path"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/phm"
)

// types are the types of some files, by extension.
func types() map[string]string {
	return map[string]string{".html": "text/html", ".css": "text/css", ".png": "image/png"}
}

// Tree returns a PHM with these files, by path; index.html is its entry. Its files are as old as at.
func Tree(t testing.TB, at time.Time, files map[string][]byte) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	add := func(name string, data []byte) {
		tree[name] = &fstest.MapFile{Data: data, Mode: 0o644, ModTime: at}
	}
	var table, meta bytes.Buffer
	w := phm.NewFilesWriter(&table)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		body := files[p]
		sum := sha256.Sum256(body)
		add(p, body)
		f := phm.File{
			Path:   p,
			URL:    "http://h.example/" + (&url.URL{Path: p}).EscapedPath(),
			Type:   types()[path.Ext(p)],
			Size:   int64(len(body)),
			SHA256: hex.EncodeToString(sum[:]),
		}
		if err := w.Write(&f); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m := &phm.Meta{Entry: "index.html", Primary: "http://h.example", Retrieved: at}
	m.Count(sums)
	if err := phm.WriteMeta(&meta, m); err != nil {
		t.Fatal(err)
	}
	add(phm.FilesName, table.Bytes())
	add(phm.MetaName, meta.Bytes())
	return tree
}
