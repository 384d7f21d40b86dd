// SPDX-License-Identifier: Apache-2.0

package wacz

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/archive/warc"
	"mirrord/internal/inorder"
)

var then = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// built is a file of n records.
func built(t testing.TB, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	about := Details{Title: "A <site>", Software: "test", Created: then}
	about.MainURL, about.MainDate = "http://a.test/0", then
	b, err := NewWriter(&out, about, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.many = 1000
	for i := range n {
		url := fmt.Sprintf("http://a.test/%d", i*7919%n)
		d := &warc.RecordDraft{Type: warc.Response, URL: url, Date: then}
		d.Head = []byte("HTTP/1.1 200 OK\r\n\r\nbody")
		place, err := b.Data().Write(d)
		if err != nil {
			t.Fatal(err)
		}
		e := warc.Entry{Key: warc.SURT(url), Time: warc.Stamp(then), URL: url}
		e.Status, e.Place = "200", place
		p := Listed{ID: url, URL: url, Date: then}
		p.Title = "<T>"
		if err := errors.Join(b.Index(e), b.List(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// changed writes a file again, with some of the files inside changed; nil drops one.
func changed(t *testing.T, file []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == name {
			if text = change(text); text == nil {
				continue
			}
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: f.Method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// verified returns the errors of a file.
func verified(t *testing.T, file []byte) (wrong []string, records int) {
	t.Helper()
	c, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return []string{err.Error()}, 0
	}
	note := func(name string, err error) { wrong = append(wrong, name+": "+err.Error()) }
	return wrong, c.Verify(inorder.Crew{}, note).Records
}

// An index of few records is one file, that of many has members; each is sorted and points to the records.
func TestIndex(t *testing.T) {
	for n, name := range map[int]string{3: indexName, 1100: packedIndex} {
		file := built(t, n)
		if wrong, records := verified(t, file); len(wrong) > 0 || records != n {
			t.Fatalf("%d records: %d, %q", n, records, wrong)
		}
		c, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil || c.file(name) == nil {
			t.Fatalf("%d records: no %s, %v", n, name, err)
		}
		var keys []string
		data := c.Records()[0]
		from, err := data.DataOffset()
		if err != nil || data.Method != zip.Store {
			t.Fatalf("records are not stored: %v", err)
		}
		if err := c.Index(func(e warc.Entry) error {
			keys = append(keys, e.Key)
			if len(keys)%1000 > 2 {
				return nil
			}
			r, err := warc.NewReader(bytes.NewReader(file[from+e.Place.Offset:][:e.Place.Length]))
			if err != nil {
				return err
			}
			defer r.Close()
			if rec, err := r.Next(); err != nil || rec.URL() != e.URL {
				return fmt.Errorf("%s points to %+v, %w", e.URL, rec, err)
			}
			return nil
		}); err != nil || len(keys) != n || !slices.IsSorted(keys) {
			t.Errorf("%d keys, sorted: %v, %v", len(keys), slices.IsSorted(keys), err)
		}
	}
}

func TestDescription(t *testing.T) {
	file := built(t, 2)
	c, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if a := c.About; a.Version != "1.1.1" || a.Title != "A <site>" || a.MainURL != "http://a.test/0" ||
		a.MainDate != "2026-11-21T10:00:00Z" || len(a.Resources) != 3 {
		t.Errorf("%+v", a)
	}
	pages, err := c.read(pagesName, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var head, page map[string]any
	lines := strings.Split(strings.TrimSpace(string(pages)), "\n")
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &head),
		json.Unmarshal([]byte(lines[1]), &page)); err != nil ||
		head["format"] != "json-pages-1.0" || page["ts"] != "2026-11-21T10:00:00Z" || page["title"] != "<T>" {
		t.Errorf("pages %q, %v", lines, err)
	}
	if !bytes.Equal(file, built(t, 2)) {
		t.Error("the same records give another file")
	}
}

// Errors of a file are found, and reported with the name of the file inside.
func TestVerify(t *testing.T) {
	file := built(t, 3)
	replace := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	}
	drop := func([]byte) []byte { return nil }
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"index that lies":  {changed(t, file, indexName, replace(`"offset":"`, `"offset":"1`)), "do not lead"},
		"index of no form": {changed(t, file, indexName, replace("{", "")), "invalid character"},
		"digest":           {changed(t, file, pagesName, replace("<T>", "<U>")), pagesName + ": it has another"},
		"size":             {changed(t, file, pagesName, replace("<T>", "<TT>")), pagesName + ": it has "},
		"no list of pages": {changed(t, file, pagesName, replace(`"url":`, `url:`)), "invalid character"},
		"missing":          {changed(t, file, pagesName, drop), pagesName + ": it is listed"},
		"description":      {changed(t, file, packageName, replace("test", "tset")), digestName},
		"record":           {changed(t, file, dataName, replace("\x1f\x8b", "\x1f\x8c")), dataName},
		"no records":       {changed(t, file, dataName, drop), "no records"},
		"no description":   {changed(t, file, packageName, drop), "datapackage.json is missing"},
		"no ZIP":           {[]byte("hello"), "not a WACZ"},
	} {
		wrong, _ := verified(t, c.file)
		if !slices.ContainsFunc(wrong, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: %q, want %q", what, wrong, c.want)
		}
	}
	if wrong, _ := verified(t, changed(t, file, digestName, drop)); len(wrong) > 0 {
		t.Errorf("the digest of the description is optional: %q", wrong)
	}
	if !IsWACZ(bytes.NewReader(file), int64(len(file))) || IsWACZ(strings.NewReader("PK"), 2) {
		t.Error("a WACZ is not told from others")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(built(f, 2))
	f.Fuzz(func(t *testing.T, file []byte) {
		IsWACZ(bytes.NewReader(file), int64(len(file)))
		c, err := Open(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			c.Verify(inorder.Crew{}, func(string, error) {})
		}
	})
}
