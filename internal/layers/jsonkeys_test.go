// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// keyExceptions are JSON keys that are not snake_case, by package and key, each with the reason.
func keyExceptions() map[string]string {
	const (
		field     = "a field of mirrord in phm.files: the prefix keeps it apart from those of others"
		published = "phm.json is a published format"
		wacz      = "a file of a WACZ is of a published format"
		har       = "HAR is a published format"
		packs     = "the head of a frame is a stored format"
		old       = "what version 0.2.0 stored is read"
	)
	return map[string]string{
		"phm maskedFiles": published, "phm maskedBytes": published,
		"phm tableBytes": published, "phm tableSHA256": published,
		"archive/wacz mainPageUrl": wacz, "archive/wacz mainPageDate": wacz,
		"archive/projects startedDateTime": har, "archive/projects statusText": har,
		"archive/wacz publicKey": wacz, "archive/wacz domainCert": wacz, "archive/wacz signedData": wacz,
		"archive/projects bodySize": har, "archive/projects redirectURL": har, "archive/projects mimeType": har,
		"mirror/result alternatesUnchanged": old, "mirror/result reusedOf": old,
		"mirror/result repairedLinks": old, "mirror/result sameText": old, "mirror/result nearText": old,
	}
}

// JSON has one spelling of keys. A field without a tag, in an exported struct in which others have one, would
// be written with its name in Go.
func TestJSONKeys(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	except := keyExceptions()
	used := map[string]bool{}
	for _, src := range sources(t) {
		ast.Inspect(src.ast, func(n ast.Node) bool {
			exported := false
			if decl, ok := n.(*ast.TypeSpec); ok {
				n, exported = decl.Type, decl.Name.IsExported()
			}
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, key := range keysOf(s, exported) {
				if k := src.pkg + " " + key; except[k] != "" {
					used[k] = true
					continue
				}
				if !snake.MatchString(key) {
					t.Errorf("%s: JSON key %q is not snake_case", src.name, key)
				}
			}
			return true
		})
	}
	for k := range except {
		if !used[k] {
			t.Errorf("exception %q: there is no such key", k)
		}
	}
}

// keysOf returns the JSON keys of a struct that has any: also those of fields without a tag if untagged is
// set.
func keysOf(s *ast.StructType, untagged bool) (keys []string) {
	tagged := false
	for _, f := range s.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag, _ = strconv.Unquote(f.Tag.Value)
		}
		key, has := reflect.StructTag(tag).Lookup("json")
		tagged = tagged || has
		key, _, _ = strings.Cut(key, ",")
		switch {
		case key == "-", (key == "") && !untagged:
		case key != "":
			keys = append(keys, key)
		default:
			for _, name := range f.Names { // an embedded field has none
				if name.IsExported() {
					keys = append(keys, name.Name)
				}
			}
		}
	}
	if !tagged {
		return nil
	}
	return keys
}
