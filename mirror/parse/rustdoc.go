// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// rustdocLoads are the search of rustdoc and its index. An element of the page has the directories, and names
// or addresses with digests; before 2022 the names followed from the version.
func rustdocLoads(page []byte) (refs []string) {
	i := varsAt(page)
	if i < 0 {
		return nil
	}
	vars := dataAttributes(page[max(bytes.LastIndexByte(page[:i], '<'), 0):])
	root, suffix := vars.get("root-path"), vars.get("resource-suffix")
	static := cmp.Or(vars.get("static-root-path"), root)
	for _, v := range vars { // in their order, so that each run finds the same
		switch {
		case !strings.HasSuffix(v.Key, "-js") && !strings.HasSuffix(v.Key, "-css"):
		case strings.Contains(v.Val, "/"):
			refs = append(refs, v.Val)
		default:
			refs = append(refs, static+v.Val)
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

// attributes are those of an element that begin with data-, without that. They are few.
type attributes []html.Attribute

// get returns the value of an attribute; "" without one.
func (a attributes) get(name string) string {
	for _, v := range a {
		if v.Key == name {
			return v.Val
		}
	}
	return ""
}

// dataAttributes returns the attributes of the element at the beginning of a text.
func dataAttributes(text []byte) (list attributes) {
	z := html.NewTokenizer(bytes.NewReader(text))
	z.Next()
	for _, v := range z.Token().Attr {
		if name, ok := strings.CutPrefix(v.Key, "data-"); ok {
			list = append(list, html.Attribute{Key: name, Val: v.Val})
		}
	}
	return list
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
