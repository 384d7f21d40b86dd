// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// importPrefix is an entry of an import map that maps all specifiers with a prefix: "three/addons/" to
// "./jsm/" (HTML standard, section 8.1.6.2, "resolve an imports match").
type importPrefix struct {
	prefix string
	base   []byte
}

// importMap are the prefixes of the import maps of a document, the longest first.
type importMap []importPrefix

// read adds the prefixes of a map.
func (m *importMap) read(s []byte) {
	var written struct {
		Imports map[string]any `json:"imports"`
	}
	if json.Unmarshal(s, &written) != nil {
		return
	}
	for prefix, value := range written.Imports {
		base, _ := value.(string)
		if strings.HasSuffix(prefix, "/") && strings.HasSuffix(base, "/") {
			*m = append(*m, importPrefix{prefix, []byte(base)})
		}
	}
	slices.SortFunc(*m, func(a, b importPrefix) int {
		if len(a.prefix) != len(b.prefix) {
			return len(b.prefix) - len(a.prefix)
		}
		return strings.Compare(a.prefix, b.prefix)
	})
}

// of returns where a specifier of a module leads by its prefix: a base, nil for none, and what follows it.
func (m importMap) of(specifier []byte) (base, rest []byte) {
	for i := range m {
		p := &m[i]
		if rest, ok := bytes.CutPrefix(specifier, []byte(p.prefix)); ok && len(rest) > 0 && rest[0] != '/' {
			return p.base, rest
		}
	}
	return nil, nil
}

// rewrites reports whether a prefix is an address itself, such as "./": it would lead a specifier that was
// written anew elsewhere once more.
func (m importMap) rewrites() bool {
	return slices.ContainsFunc(m, func(p importPrefix) bool {
		return strings.ContainsAny(p.prefix[:1], "./") || strings.Contains(p.prefix, ":")
	})
}
