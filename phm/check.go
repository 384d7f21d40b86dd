// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Names of the two files that make a tree a PHM.
const (
	MetaName  = "phm.json"
	FilesName = "phm.files"
)

// ErrPath says that a name is not a mirror path: it could leave the tree, or not exist as it is on some
// system.
var ErrPath = errors.New("not a mirror path")

// CheckPath reports why path may not stand in a PHM, or nil. Every path of Preferred, Qualified and Namer
// passes.
func CheckPath(path string) error {
	why := func(reason string) error {
		return fmt.Errorf("check path %q: %w: %s", abbreviate(path), ErrPath, reason)
	}
	switch {
	case path == "":
		return why("it is empty")
	case len(path) > MaxPath:
		return why(fmt.Sprintf("it has %d bytes, over %d", len(path), MaxPath))
	case path[0] == '/':
		return why("it is absolute")
	case strings.IndexByte(path, '\\') >= 0:
		return why("it has a backslash")
	case len(path) > 1 && path[1] == ':':
		return why("it has a drive letter")
	case isASCII(path): // nothing of the next two
	case !utf8.ValidString(path):
		return why("it is not UTF-8")
	case !norm.NFC.IsNormalString(path):
		return why("it is not in normalization form C")
	}
	rest := path
	for first := true; ; first = false {
		segment, more, found := strings.Cut(rest, "/")
		if reason := checkSegment(segment, first); reason != "" {
			return why(reason)
		}
		if !found {
			return nil
		}
		rest = more
	}
}

func checkSegment(s string, atRoot bool) string {
	switch {
	case s == "":
		return "it has an empty segment"
	case s == "." || s == "..":
		return "it has a dot segment"
	case len(s) > MaxSegment:
		return fmt.Sprintf("a segment has %d bytes, over %d", len(s), MaxSegment)
	case s[0] == '.':
		return "a segment begins with a dot"
	case s[0] == ' ', s[len(s)-1] == ' ':
		return "a segment begins or ends with a blank"
	case s[len(s)-1] == '.':
		return "a segment ends with a dot"
	case reserved(s):
		return "a segment is a reserved name"
	case atRoot && (strings.EqualFold(s, MetaName) || strings.EqualFold(s, FilesName)):
		return "the name belongs to the format"
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < utf8.RuneSelf && c != '%' && !safeByte(c) {
			return fmt.Sprintf("it has the character %U", c)
		}
	}
	if isASCII(s) {
		return ""
	}
	for _, r := range s {
		if r >= utf8.RuneSelf && !safeRune(r) {
			return fmt.Sprintf("it has the character %U", r)
		}
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// abbreviate bounds what an error message quotes of foreign text.
func abbreviate(s string) string {
	if len(s) <= 120 {
		return s
	}
	return cut(s, 100) + "…"
}
