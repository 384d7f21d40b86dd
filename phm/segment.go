// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// safeByte reports whether an ASCII byte may stand in a name on every system: printable, and not one that
// Windows, a URL or this format gives a meaning to.
func safeByte(c byte) bool {
	switch c {
	case '"', '%', '*', '/', ':', '<', '>', '?', '\\', '|':
		return false
	}
	return c >= ' ' && c < 0x7f
}

// safeRune reports whether a rune may stand in a name. Refused are controls, format characters (some file
// systems do not compare them, and the bidirectional ones disguise an extension), separators of lines,
// private use, surrogates, and noncharacters.
func safeRune(r rune) bool {
	if r < utf8.RuneSelf {
		return safeByte(byte(r))
	}
	if r == utf8.RuneError || r&0xfffe == 0xfffe || (r >= 0xfdd0 && r <= 0xfdef) {
		return false
	}
	return !unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
}

// sanitize turns one percent-encoded segment into a name: escapes of safe UTF-8 are decoded and normalized
// (NFC), other escapes stay as they are, and unsafe characters are escaped. %25 stays, so an escape in a
// name is always one. A combining mark after an escape that ends in a letter joins that letter: it is no
// escape then.
func sanitize(s string) string {
	i := 0
	for i < len(s) && safeByte(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	out := make([]byte, i, len(s)+8)
	copy(out, s)
	var run [utf8.UTFMax]byte
	for i < len(s) {
		c := s[i]
		if c != '%' {
			if safeByte(c) {
				out = append(out, c)
			} else {
				out = append(out, '%', upperHex[c>>4], upperHex[c&15])
			}
			i++
			continue
		}
		n := 0 // escaped bytes from here, as many as one rune can have
		for n < len(run) && i+3*n+2 < len(s) && s[i+3*n] == '%' {
			if _, err := hex.Decode(run[n:n+1], []byte(s[i+3*n+1:i+3*n+3])); err != nil {
				break
			}
			n++
		}
		if n == 0 { // a lone '%'
			out = append(out, '%')
			i++
			continue
		}
		r, size := utf8.DecodeRune(run[:n])
		if (r == utf8.RuneError && size == 1) || !safeRune(r) {
			out = append(out, s[i:i+3*size]...)
		} else {
			out = append(out, run[:size]...)
		}
		i += 3 * size
	}
	return normal(string(out))
}

// protect escapes the first or last character of a name that some system would hide, strip, obey or refuse.
func protect(name string, atRoot bool) string {
	if c := name[len(name)-1]; c == '.' || c == ' ' {
		name = name[:len(name)-1] + escape(c)
	}
	if c := name[0]; c == '.' || c == ' ' || reserved(name) || (atRoot && reservedAtRoot(name)) {
		name = normal(escape(c) + name[1:]) // a combining mark may follow: "%2E" and U+0301 are "%2É"
	}
	return name
}

func escape(c byte) string { return string([]byte{'%', upperHex[c>>4], upperHex[c&15]}) }

// reservedAtRoot reports whether a name at the root of the tree belongs to the format: "@host", "phm.json",
// "phm.files".
func reservedAtRoot(name string) bool {
	return name[0] == '@' || strings.EqualFold(name, MetaName) || strings.EqualFold(name, FilesName)
}

// reserved reports whether a name is a device on Windows (with any extension), or configuration that a server
// or a file manager would obey: web.config (IIS), desktop.ini and autorun.inf (Windows).
func reserved(name string) bool {
	switch name[0] | 0x20 {
	case 'c', 'p', 'a', 'n', 'l', 'w', 'd':
	default:
		return false
	}
	for _, config := range [...]string{"web.config", "desktop.ini", "autorun.inf"} {
		if strings.EqualFold(name, config) {
			return true
		}
	}
	device, _, _ := strings.Cut(name, ".")
	if device = strings.TrimRight(device, " "); len(device) > len("conout$") {
		return false
	}
	switch device = strings.ToLower(device); device {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	// COM0 to COM9, LPT0 to LPT9, and the superscript digits one to three
	number, isPort := strings.CutPrefix(device, "com")
	if !isPort {
		number, isPort = strings.CutPrefix(device, "lpt")
	}
	return isPort && utf8.RuneCountInString(number) == 1 && strings.Contains("0123456789¹²³", number)
}

// SafeName returns the last part of the name of a file that a server offers, as it may stand on every file
// system: "" when nothing of it is left. Characters that no name may have become "_", and invisible ones
// are dropped.
func SafeName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case safeRune(r):
			return r
		case r < utf8.RuneSelf && r >= ' ' && r != 0x7f:
			return '_'
		}
		return -1
	}, name)
	name = strings.Trim(normal(strings.Join(strings.Fields(name), " ")), " .")
	if name == "" {
		return ""
	}
	stem, ext := splitExtension(name)
	return protect(cut(stem, MaxSegment-len(ext)-edgeRoom)+ext, true)
}
