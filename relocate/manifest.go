// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"slices"
	"strings"

	"mirrord/internal/charset"
)

// Manifest is a web app manifest.
func (readers) Manifest() reader {
	json := []string{"application/json", "text/json"}
	return reader{
		format: Manifest,
		name:   "manifest",
		types:  append(json, "application/manifest+json", "application/x-web-app-manifest+json"),
		as: func(b body) Format {
			if slices.Contains(json, b.essence) && b.ext != "webmanifest" &&
				!strings.HasSuffix(b.url.Path(), "/manifest.json") {
				return Unknown
			}
			return Manifest
		},
		used:    []string{"webmanifest"},
		syntax:  charset.JSON,
		scan:    scanManifest,
		spliced: true,
	}
}

// scanManifest finds the links of a web app manifest (W3C Application Manifest): the members named below,
// wherever they stand. The text is read as a run of JSON strings; a string before a colon names the one after
// it.
func scanManifest(sc *scanner, v view) {
	s := v.s
	var key []byte
	inShortcuts := false
	for p := 0; ; {
		i := bytes.IndexByte(s[p:], '"')
		if i < 0 {
			return
		}
		p += i
		start := p + 1
		end := jsonString(s, start)
		if end < 0 {
			return
		}
		p = end + 1
		q := p
		for q < len(s) && space(s[q]) {
			q++
		}
		if q < len(s) && s[q] == ':' {
			key = s[start:end]
			for q++; q < len(s) && space(s[q]); q++ {
			}
			switch string(key) {
			case "shortcuts":
				inShortcuts = true
			case "protocol_handlers", "related_applications", "share_target", "file_handlers":
				// their urls are patterns, programs and shops
				inShortcuts = false
			}
			if q >= len(s) || s[q] != '"' {
				key = nil // the value is no string: its own strings have their own keys
			}
			p = q
			continue
		}
		kind := Requisite
		switch string(key) {
		case "src":
		case "start_url":
			kind = Hyperlink
		case "url":
			if !inShortcuts {
				key = nil
				continue
			}
			kind = Hyperlink
		case "scope":
			kind = Reference
		case "action":
			kind = Action
		default:
			key = nil
			continue
		}
		key = nil
		sc.url(textOfJSON(sc, v.sub(start, end)), kind, CtxJSON, false)
	}
}

// jsonString returns the position of the quote that ends the string whose text starts at s[p], or -1.
func jsonString(s []byte, p int) int {
	for p < len(s) {
		switch s[p] {
		case '"':
			return p
		case '\\':
			p++
		}
		p++
	}
	return -1
}

// textOfJSON decodes the escapes of a JSON string.
func textOfJSON(sc *scanner, v view) view {
	s := v.s
	if bytes.IndexByte(s, '\\') < 0 {
		return v
	}
	d := sc.newDecoder(&v)
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			d.put(i, s[i])
			i++
			continue
		}
		switch c := s[i+1]; c {
		case 'b', 'f', 'n', 'r', 't':
			d.put(i, "\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)])
			i += 2
		case 'u':
			r, n := jsonUnicode(s[i:])
			d.rune(i, r)
			i += n
		default:
			d.put(i, c)
			i += 2
		}
	}
	return d.view(len(s))
}

// jsonUnicode decodes \u and four hex digits, or a surrogate pair of two, at the start of s.
func jsonUnicode(s []byte) (r rune, n int) {
	unit := func(s []byte) rune {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return -1
		}
		x := rune(0)
		for _, c := range s[2:6] {
			d := digit(c)
			if d > 15 {
				return -1
			}
			x = x<<4 | d
		}
		return x
	}
	hi := unit(s)
	switch {
	case hi < 0:
		return 0xfffd, 2
	case 0xd800 <= hi && hi < 0xdc00:
		if lo := unit(s[6:]); 0xdc00 <= lo && lo < 0xe000 {
			return 0x10000 + (hi-0xd800)<<10 + lo - 0xdc00, 12
		}
		return 0xfffd, 6
	case 0xdc00 <= hi && hi < 0xe000:
		return 0xfffd, 6
	}
	return hi, 6
}
