// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"slices"
	"strings"
)

// A Mask says which files to leave out, by their type.
type Mask struct{ words []string }

// NewMask reads the words of a mask: "images", "movies", "sounds", a MIME type ("application/pdf") or all of
// one kind ("font/*").
func NewMask(words ...string) (*Mask, error) {
	m := new(Mask)
	for _, w := range words {
		w = strings.ToLower(strings.TrimSpace(w))
		if _, known := maskKinds(w); !known && !isMaskType(w) {
			return nil,
				fmt.Errorf(
					"mask %q: neither images, movies, sounds nor a MIME type; write for example application/pdf or font/*",
					w)
		}
		if !slices.Contains(m.words, w) {
			m.words = append(m.words, w)
		}
	}
	if len(m.words) == 0 {
		return nil, fmt.Errorf("mask: it names nothing; write for example images,application/pdf")
	}
	return m, nil
}

// Words returns the words, each once.
func (m *Mask) Words() []string { return m.words }

// Hides reports whether a file is left out. Where the type says nothing of what the bytes are, the extension
// of the name decides for images, movies and sounds: many servers send films as application/octet-stream.
func (m *Mask) Hides(f *File) bool {
	e := essence(f.Type)
	return slices.ContainsFunc(m.words, func(w string) bool {
		if k, ok := maskKinds(w); ok {
			return k.has(e, f.Path)
		}
		if all, ok := strings.CutSuffix(w, "*"); ok {
			return strings.HasPrefix(e, all)
		}
		return e == w
	})
}

// A maskKind is what one of the words for people stands for.
type maskKind struct {
	prefix string // of the types
	names  string // extensions, as contains takes them
}

func maskKinds(word string) (k maskKind, ok bool) {
	switch word {
	case "images":
		return maskKind{"image/", medias["image/png"].keep + "svg svgz psd raw "}, true
	case "movies":
		return maskKind{"video/", " mp4 m4v m4s webm ogv mov qt avi mkv mpg mpeg m2ts mts 3gp wmv flv "}, true
	case "sounds":
		return maskKind{"audio/", " mp3 m4a ogg oga opus wav flac aac weba wma aif aiff mid midi "}, true
	}
	return maskKind{}, false
}

func (k maskKind) has(essence, path string) bool {
	switch essence {
	case "", "application/octet-stream", "binary/octet-stream", "application/ogg":
		_, ext := splitExtension(path)
		return ext != "" && contains(k.names, ext[1:])
	}
	return strings.HasPrefix(essence, k.prefix)
}

// isMaskType reports whether w is "type/subtype" or "type/*".
func isMaskType(w string) bool {
	kind, sub, ok := strings.Cut(w, "/")
	token := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?=*`, r)
		})
	}
	return ok && token(kind) && (sub == "*" || token(sub))
}
