// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func packedUpdate(t *testing.T, base, target fs.FS, o UpdateOptions) *Archive {
	t.Helper()
	var b bytes.Buffer
	if o.Charset == nil {
		o.Charset = func(path string) string { return strings.Repeat("latin1", strings.Count(path, "goes/")) }
	}
	if _, err := PackUpdate(&b, base, target, o); err != nil {
		t.Fatal(err)
	}
	a, err := OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// An update leads from the table of its base to that of its target, has each file that changed, and is no
// delta for mirrord import --delta.
func TestUpdate(t *testing.T) {
	v1, v2 := twoVersions(t)
	had := map[string]string{}
	for f, err := range tableOf(v1) {
		if err != nil {
			t.Fatal(err)
		}
		had[f.Path] = f.SHA256
	}
	for name, c := range map[string]struct {
		base, target fs.FS
		table        []byte
		o            UpdateOptions
		gone         []string
	}{
		"since": {
			base:   v1,
			target: v2,
			table:  v1[FilesName].Data,
			gone:   []string{"goes/1.html", "goes/2.html", "goes/3~4.html", "moves/a.html"},
		},
		"back":            {base: v2, target: v1, table: v2[FilesName].Data},
		"everything":      {target: v2},
		"the table alone": {target: v2, o: UpdateOptions{NoFiles: true}},
		"the same":        {base: v1, target: v1, table: v1[FilesName].Data},
	} {
		a := packedUpdate(t, c.base, c.target, c.o)
		u, err := OpenUpdate(a, c.table)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := fs.ReadFile(c.target, FilesName)
		if err != nil || !bytes.Equal(u.Table, want) {
			t.Errorf("%s: another table, %v", name, err)
		}
		if name != "back" && !slices.Equal(u.Gone, c.gone) {
			t.Errorf("%s: gone %q", name, u.Gone)
		}
		for f, err := range tableOf(c.target) {
			if err != nil {
				t.Fatal(err)
			}
			wanted := !c.o.NoFiles && (c.base == nil || (name == "since" && had[f.Path] != f.SHA256))
			if name != "back" && u.Has(f) != wanted {
				t.Errorf("%s: has %s: %v", name, f.Path, u.Has(f))
			}
			if !u.Has(f) {
				continue
			}
			var b bytes.Buffer
			body, err := fs.ReadFile(c.target, f.Path)
			if cerr := u.CopyBody(&b, f); cerr != nil || err != nil || !bytes.Equal(b.Bytes(), body) {
				t.Errorf("%s: %s: %v, %v", name, f.Path, cerr, err)
			}
			if got := u.Charsets[f.Path]; (got == "latin1") != strings.HasPrefix(f.Path, "goes/") {
				t.Errorf("%s: charset of %s is %q", name, f.Path, got)
			}
		}
		if _, err := OpenUpdate(a, []byte("other")); !errors.Is(err, ErrBase) {
			t.Errorf("%s: of another base: %v", name, err)
		}
		if _, err := ReadDelta(a); !errors.Is(err, ErrNotDelta) {
			t.Errorf("%s: accepted as a delta: %v", name, err)
		}
	}
}

// A file whose bytes are not those of its line is an error, and so is a table that the lines do not lead to.
func TestUpdateDamaged(t *testing.T) {
	v1, v2 := twoVersions(t)
	a := packedUpdate(t, v1, v2, UpdateOptions{})
	u, err := OpenUpdate(a, v1[FilesName].Data)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range tableOf(v2) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Has(f) {
			f.SHA256 = strings.Repeat("0", 64)
			if err := u.CopyBody(new(bytes.Buffer), f); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", f.Path, err)
			}
		}
	}
	var b bytes.Buffer
	p := &deltaPacker{base: v1, target: v2}
	p.delta = Delta{
		Format: deltaFormat,
		Base:   DeltaBase{TableSum: TableSum(v1[FilesName].Data)},
		Meta:   string(v2[MetaName].Data),
	}
	if err := p.write(&b); err != nil { // without lines
		t.Fatal(err)
	}
	if a, err = OpenArchive(bytes.NewReader(b.Bytes()), int64(b.Len()), Limits{}); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenUpdate(a, v1[FilesName].Data); !errors.Is(err, ErrDamaged) {
		t.Errorf("another table: %v", err)
	}
}
