// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// rustdocLoads are the search of rustdoc and its index. An element of the page has the directories, and names
// or addresses with digests; before 2022 the names followed from the version.
func rustdocLoads(page []byte) (refs []string) {
	i := varsAt(page)
	if i < 0 {
		return nil
	}
	from := bytes.LastIndexByte(page[:i], '<')
	element, _, _ := bytes.Cut(page[max(from, 0):], []byte(">"))
	vars := map[string]string{}
	var names []string
	for name, value := range dataAttributes(element) {
		vars[string(name)] = html.UnescapeString(string(value))
		names = append(names, string(name))
	}
	root, suffix := vars["root-path"], vars["resource-suffix"]
	static := root
	if s, ok := vars["static-root-path"]; ok {
		static = s
	}
	for _, name := range names { // in their order, so that each run finds the same
		switch v := vars[name]; {
		case !strings.HasSuffix(name, "-js") && !strings.HasSuffix(name, "-css"):
		case strings.Contains(v, "/"):
			refs = append(refs, v)
		default:
			refs = append(refs, static+v)
		}
	}
	if vars["search-js"] == "" {
		refs = append(refs, root+"search"+suffix+".js")
	}
	switch {
	case vars["stringdex-js"] != "":
		refs = append(refs, root+"search.index/root"+suffix+".js")
	case vars["search-index-js"] == "":
		refs = append(refs, root+"search-index"+suffix+".js")
	}
	return refs
}

// dataAttributes yields the attributes of an element whose names begin with data-, without that, and their
// values in double quotes.
func dataAttributes(element []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for rest := element; ; {
			_, after, found := bytes.Cut(rest, []byte("data-"))
			if !found {
				return
			}
			rest = after
			name := after[:len(after)-len(bytes.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz-"))]
			quoted, is := bytes.CutPrefix(after[len(name):], []byte(`="`))
			value, after, closed := bytes.Cut(quoted, []byte{'"'})
			if len(name) == 0 || !is || !closed {
				continue
			}
			if rest = after; !yield(name, value) {
				return
			}
		}
	}
}

// varsAt returns where the variables of a page are named, -1 for nowhere: in its head, or, before rustdoc
// 1.72, at its end.
func varsAt(page []byte) int {
	name := []byte(`="rustdoc-vars"`)
	if i := bytes.Index(page[:min(len(page), 2*begins)], name); i >= 0 {
		return i
	}
	if end := max(0, len(page)-2*begins); bytes.Contains(page[end:], name) {
		return end + bytes.Index(page[end:], name)
	}
	return bytes.Index(page, name)
}

// columns returns the files of the columns of the search index of rustdoc 1.90 and later. The argument of rr_
// is an object of columns: H are the digests of the files of one, N counts their entries. The files of its
// search trees are named by digests inside of the trees only, whose format differs between versions.
func columns(root []byte) (refs []string) {
	_, data, ok := bytes.Cut(root, []byte("rr_('"))
	end := bytes.LastIndexByte(data, '\'')
	if !ok || end < 0 {
		return nil
	}
	var index map[string]struct {
		N string
		H []byte
	}
	if json.Unmarshal(data[:end], &index) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		c, files := index[name], 0
		for i := range len(c.N) {
			if c.N[i] >= '`' { // the last digit of a count
				files++
			}
		}
		if files == 0 || files > mostLoads || len(c.H)%files != 0 || !columnName.MatchString(name) {
			continue
		}
		width := len(c.H) / files
		if width == 0 || width > sha256.Size {
			continue
		}
		for digest := range slices.Chunk(c.H, width) {
			refs = append(refs, fmt.Sprintf("%s/%x.js", name, digest))
		}
	}
	return refs
}

var columnName = regexp.MustCompile(`^\w+$`)
