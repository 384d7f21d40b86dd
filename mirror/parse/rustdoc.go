// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
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
	vars := dataAttributes(string(element))
	root, suffix := vars.get("root-path"), vars.get("resource-suffix")
	static := root
	if vars.has("static-root-path") {
		static = vars.get("static-root-path")
	}
	for _, v := range vars { // in their order, so that each run finds the same
		switch {
		case !strings.HasSuffix(v.name, "-js") && !strings.HasSuffix(v.name, "-css"):
		case strings.Contains(v.value, "/"):
			refs = append(refs, v.value)
		default:
			refs = append(refs, static+v.value)
		}
	}
	if vars.get("search-js") == "" {
		refs = append(refs, root+"search"+suffix+".js")
	}
	switch {
	case vars.get("stringdex-js") != "":
		refs = append(refs, root+"search.index/root"+suffix+".js")
	case vars.get("search-index-js") == "":
		refs = append(refs, root+"search-index"+suffix+".js")
	}
	return refs
}

// attributes are those of an element. They are few.
type attributes []attribute

type attribute struct{ name, value string }

// get returns the value of an attribute, the last one of several; "" without one.
func (a attributes) get(name string) string {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i].name == name {
			return a[i].value
		}
	}
	return ""
}

// has reports whether there is an attribute.
func (a attributes) has(name string) bool {
	return slices.ContainsFunc(a, func(v attribute) bool { return v.name == name })
}

// dataAttributes returns the attributes of an element whose names begin with data-, without that, with values
// in double quotes.
func dataAttributes(element string) (list attributes) {
	for rest := element; ; {
		_, after, found := strings.Cut(rest, "data-")
		if !found {
			return list
		}
		rest = after
		name := after[:len(after)-len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz-"))]
		quoted, is := strings.CutPrefix(after[len(name):], `="`)
		value, after, closed := strings.Cut(quoted, `"`)
		if len(name) == 0 || !is || !closed {
			continue
		}
		if list == nil {
			list = make(attributes, 0, usualAttributes)
		}
		rest = after
		list = append(list, attribute{name, html.UnescapeString(value)})
	}
}

// usualAttributes is how many such attributes rustdoc's element has, and some more.
const usualAttributes = 16

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
