// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"iter"
	"strings"
)

// SkipFormat is a program for which skipped directories are written as a list of what it is to leave out.
type SkipFormat string

const (
	// Rsync is a file for rsync's --exclude-from: "/docs/old/", from the root of the transfer.
	Rsync SkipFormat = "rsync"
	// Wget is a part of a wgetrc, which wget also takes by --config: "exclude_directories = /docs/old".
	Wget SkipFormat = "wget"
	// Lftp is a file for --exclude-rx-from of lftp's mirror, a regular expression in each line: "^docs/old/".
	Lftp SkipFormat = "lftp"
)

// Formats are all of them.
func Formats() []SkipFormat { return []SkipFormat{Rsync, Wget, Lftp} }

// Exclude yields a line for each directory, without its end. Paths are those of the site, not escaped,
// without a slash before or after; the empty one, the root, is never left out. A directory that a program has
// no way to say yields an error that names it, and no line: leaving out too little costs requests only. Tried
// with rsync 3.5, wget 1.21 and lftp 4.9.
func Exclude(format SkipFormat, dirs iter.Seq[string]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for dir := range dirs {
			line, err := exclude(format, dir)
			if !yield(line, err) {
				return
			}
		}
	}
}

func exclude(format SkipFormat, dir string) (string, error) {
	cannot := func(why string) (string, error) {
		return "", fmt.Errorf("exclude %q for %s: %s", dir, format, why)
	}
	switch {
	case dir == "":
		return cannot("the root is never skipped")
	case strings.ContainsAny(dir, "\n\r\x00"):
		return cannot("a line cannot hold the name")
	}
	switch format {
	case Rsync:
		// A backslash escapes only where the pattern has a wildcard (rsync(1), pattern matching rules).
		if strings.ContainsAny(dir, "*?[") {
			dir = escape(dir, `\*?[`)
		}
		return "/" + dir + "/", nil
	case Wget:
		switch {
		case strings.ContainsRune(dir, ','):
			return cannot("a comma ends a name, and cannot be escaped")
		case strings.ContainsAny(dir, "*?[]"):
			return cannot("a name with a wildcard would not cover what lies below")
		case strings.TrimSpace(dir) != dir:
			return cannot("space at the end is dropped")
		}
		return "exclude_directories = /" + dir, nil
	case Lftp:
		return "^" + escape(dir, `\.+*?()|[]{}^$`) + "/", nil
	}
	return cannot("no such format: it has to be rsync, wget or lftp")
}

// escape sets a backslash before each of the given characters.
func escape(s, special string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(special, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
