// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"slices"
	"strings"
)

// Types is a set of file types, as a person names them. It does not change.
type Types struct {
	names []string // in lower case, each once
	words []typeWord
}

// typeWord is one word of a set of types.
type typeWord struct {
	kind   mediaKind // of "images", "movies" and "sounds"
	prefix string    // of "font/*": "font/"
	format format    // of a short name or a MIME type
}

// NewTypes reads words: a MIME type ("application/pdf"), all of one kind ("font/*"), "images", "movies",
// "sounds", or the short name of a common format ("pdf").
func NewTypes(words ...string) (*Types, error) {
	t := new(Types)
	for _, word := range words {
		w := strings.ToLower(strings.TrimSpace(word))
		if slices.Contains(t.names, w) {
			continue
		}
		t.names = append(t.names, w)
		kind, isKind := mediaKinds(w)
		f, isName := namedFormat(w)
		prefix, isPrefix := strings.CutSuffix(w, "*")
		switch {
		case isKind:
			t.words = append(t.words, typeWord{kind: kind})
		case isName:
			t.words = append(t.words, typeWord{format: f})
		case !isType(w):
			return nil, fmt.Errorf("%q is no file type", word)
		case isPrefix:
			t.words = append(t.words, typeWord{prefix: prefix})
		default:
			t.words = append(t.words, typeWord{format: format{types: []string{w}, extensions: typeExtensions(w)}})
		}
	}
	return t, nil
}

// Words returns the words, each once.
func (t *Types) Words() []string { return t.names }

// TypeNames returns the words that stand for more than one type or need no slash, for hints.
func TypeNames() []string {
	names := []string{"images", "movies", "sounds"}
	for f := range allFormats() {
		names = append(names, f.name)
	}
	return names
}

// Has reports whether a file is of one of the types. mime is the type that its server names. Where that says
// nothing of what the bytes are, the extension of the path decides: many servers send what they do not know
// as application/octet-stream.
func (t *Types) Has(mime, path string) bool {
	e := essence(mime)
	ext := ""
	if isVague(e) {
		if _, dotted := splitExtension(path[strings.LastIndexByte(path, '/')+1:]); dotted != "" {
			ext = strings.ToLower(dotted[1:])
		}
	}
	return slices.ContainsFunc(t.words, func(w typeWord) bool {
		switch {
		case w.kind.prefix != "":
			return w.kind.has(e, path)
		case w.prefix != "":
			return strings.HasPrefix(e, w.prefix) || strings.HasPrefix(TypeByExtension(ext), w.prefix)
		}
		return slices.Contains(w.format.types, e) || (ext != "" && slices.Contains(w.format.extensions, ext))
	})
}

// isVague reports whether a type says nothing of what the bytes are.
func isVague(essence string) bool {
	switch essence {
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download",
		"application/x-download", "application/download":
		return true
	}
	return false
}

// TypeByExtension returns the usual MIME type of an extension without its dot, "" for an unknown one.
func TypeByExtension(ext string) string {
	if ext == "" {
		return ""
	}
	for f := range allFormats() {
		if slices.Contains(f.extensions, ext) {
			return f.types[0]
		}
	}
	return ""
}

func typeExtensions(mime string) []string {
	for f := range allFormats() {
		if slices.Contains(f.types, mime) {
			return f.extensions
		}
	}
	return nil
}

// namedFormat returns the format with a short name. Its extensions and other common spellings are names, too.
func namedFormat(name string) (format, bool) {
	for f := range allFormats() {
		if f.name == name || slices.Contains(f.extensions, name) {
			return f, true
		}
	}
	return format{}, false
}

// A mediaKind is what one of the words for people stands for.
type mediaKind struct {
	prefix string // of the types
	names  string // extensions, as contains takes them
}

func mediaKinds(word string) (k mediaKind, ok bool) {
	switch word {
	case "images":
		return mediaKind{"image/", medias["image/png"].keep + "svg svgz psd raw "}, true
	case "movies":
		return mediaKind{"video/", " mp4 m4v m4s webm ogv mov qt avi mkv mpg mpeg m2ts mts 3gp wmv flv "}, true
	case "sounds":
		return mediaKind{"audio/", " mp3 m4a ogg oga opus wav flac aac weba wma aif aiff mid midi "}, true
	}
	return mediaKind{}, false
}

func (k mediaKind) has(essence, path string) bool {
	switch essence {
	case "", "application/octet-stream", "binary/octet-stream", "application/ogg":
		_, ext := splitExtension(path)
		return ext != "" && contains(k.names, ext[1:])
	}
	return strings.HasPrefix(essence, k.prefix)
}

// isType reports whether w is "type/subtype" or "type/*".
func isType(w string) bool {
	kind, sub, ok := strings.Cut(w, "/")
	token := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?=*`, r)
		})
	}
	return ok && token(kind) && (sub == "*" || token(sub))
}
