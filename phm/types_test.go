// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"slices"
	"strings"
	"testing"
)

func TestTypes(t *testing.T) {
	for _, tc := range []struct {
		words, mime, path string
		want              bool
	}{
		{"pdf", "application/pdf", "/a", true},
		{"pdf", "Application/PDF; x=y", "/a", true},
		{"pdf", "text/html", "/a.pdf", false}, // the server knows better
		{"pdf", "application/octet-stream", "/a.PDF", true},
		{"pdf", "", "/a.pdf", true},
		{"pdf", "", "/a.pdf/b", false},
		{"application/pdf", "binary/octet-stream", "/a.pdf", true},
		{"image/*", "image/png", "/a", true},
		{"image/*", "imagery/png", "/a", false},
		{"image/*", "application/octet-stream", "/x.png", true},
		{"image/*", "", "/x", false},
		{"images", "image/x-anything", "/a", true},
		{"movies", "application/octet-stream", "/a.mkv", true},
		{"movies sounds", "audio/mpeg", "/a", true},
		{"jpeg", "image/jpeg", "/a", true},
		{"application/x-mine", "application/x-mine", "/a", true},
		{"application/x-mine", "application/x-other", "/a", false},
		{"", "text/html", "/a", false},
	} {
		set, err := NewTypes(strings.Fields(tc.words)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Has(tc.mime, tc.path); got != tc.want {
			t.Errorf("%q has %q at %q: %v", tc.words, tc.mime, tc.path, got)
		}
	}
	for _, bad := range []string{
		"", "picture", "image/", "/*", "*/*", "image/p*g", ".*\\.pdf", "*.pdf", "a b/c",
	} {
		if _, err := NewTypes(bad); err == nil {
			t.Errorf("%q is a type", bad)
		}
	}
}

// Every line of the table is whole, and no short name or type is there twice.
func TestFormats(t *testing.T) {
	lines := 0
	names, types := map[string]bool{}, map[string]bool{}
	for f := range allFormats() {
		lines++
		if f.name == "" || len(f.types) == 0 || len(f.extensions) == 0 || f.what == "" || f.needs == "" {
			t.Errorf("%+v", f)
		}
		bad := func(s string) bool { return types[s] || !isType(s) }
		if names[f.name] || slices.ContainsFunc(f.types, bad) {
			t.Errorf("%+v: twice, or no type", f)
		}
		names[f.name] = true
		for _, s := range f.types {
			types[s] = true
		}
		if !slices.Contains(f.extensions, f.name) && f.name != "mpeg" && f.name != "tiff" && f.name != "midi" {
			t.Errorf("the name %q is no extension", f.name)
		}
	}
	if want := strings.Count(strings.TrimSpace(formats), "\n") + 1; lines != want {
		t.Errorf("%d of %d lines can be read", lines, want)
	}
}
