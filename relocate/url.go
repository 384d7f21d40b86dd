// SPDX-License-Identifier: Apache-2.0

package relocate

// The classes of bytes in a reference.
const (
	urlReserved = 1 << iota // anything but [A-Za-z0-9._~/-]
	urlForeign              // not ASCII
	urlColon
)

var urlClass = func() (t [256]uint8) {
	for c := range t {
		if b := byte(c); !alnum(b) && b != '.' && b != '_' && b != '~' && b != '/' && b != '-' {
			t[c] = urlReserved
		}
		if c >= 0x80 {
			t[c] |= urlForeign
		}
	}
	t[':'] |= urlColon
	return t
}()

// reference is what was read of one reference before it becomes a link.
type reference struct {
	// as UTF-8, or in the document's charset when raw is set; white space at both ends and the fragment left out
	text       []byte
	start, end int32 // its span in the raw document
	class      uint8 // of its bytes
	raw        bool  // text is not UTF-8 yet
	escaped    bool  // text differs from the raw text
	fragment   bool  // a '#' follows
}

// url records the reference that v, a decoded value, holds and returns the link's index; or -1 when it is
// not one: empty, only a fragment, or of a scheme that is not the web's.
func (sc *scanner) url(v view, kind Kind, ctx Context, nofollow bool) int {
	b := v.s
	i, end := 0, len(b)
	for i < end && b[i] <= ' ' {
		i++
	}
	for end > i && b[end-1] <= ' ' {
		end--
	}
	start, class := i, uint8(0)
	for ; i < end && b[i] != '#'; i++ {
		class |= urlClass[b[i]]
	}
	r := reference{b[start:i:i], v.at(start), v.at(i), class, !v.utf8 && !sc.cs.IsUTF8(), v.escaped, i < end}
	return sc.link(&r, kind, ctx, nofollow)
}

// link records a reference.
func (sc *scanner) link(r *reference, kind Kind, ctx Context, nofollow bool) int {
	d := sc.d
	if len(r.text) == 0 {
		// Another document only under a <base>, and only for hyperlinks: a bare fragment means the document itself
		// in CSS (CSS Values, section 4.5.1) and SVG (SVG 2, section 16.1.2), an empty src nothing, an empty action
		// the document.
		if kind != Hyperlink {
			return -1
		}
		if !sc.keepEmpty {
			sc.sawEmpty = true
			return -1
		}
	}
	absolute := false
	if r.class&urlColon != 0 {
		if n := schemeLen(r.text); n > 0 {
			s := r.text[:n]
			if !equalFold(s, "http") && !equalFold(s, "https") {
				return -1
			}
			rest := r.text[n+1:]
			absolute = len(rest) > 2 && rest[0] == '/' && rest[1] == '/'
		}
	}
	if len(d.Links) >= sc.in.MaxLinks {
		d.Truncated |= BoundLinks
		return -1
	}
	ref := r.text
	if r.class&urlForeign != 0 {
		if r.raw {
			ref = sc.cs.Decode(ref)
		}
		ref = sc.queryIn(ref)
	}
	if r.fragment && len(ref) > 0 && ref[len(ref)-1] == ' ' {
		ref = sc.keepSpaces(ref)
	}
	d.Links = append(d.Links, Link{
		Start:    r.start,
		End:      r.end,
		Ctx:      ctx,
		Kind:     kind,
		NoFollow: nofollow,
		Absolute: absolute,
		Plain:    r.class&urlReserved == 0 && !r.escaped && len(ref) > 0 && ref[0] != '/',
		Ref:      ref,
	})
	return len(d.Links) - 1
}

// keepSpaces percent-encodes the spaces at the end of ref. A URL parser strips those at the end of a
// reference, but these stood before a fragment.
func (sc *scanner) keepSpaces(ref []byte) []byte {
	n := len(ref)
	for n > 0 && ref[n-1] == ' ' {
		n--
	}
	from := len(sc.arena)
	sc.arena = append(sc.arena, ref[:n]...)
	for range len(ref) - n {
		sc.arena = append(sc.arena, "%20"...)
	}
	return sc.arena[from:len(sc.arena):len(sc.arena)]
}

// schemeLen returns the length of the scheme that s starts with, or 0.
func schemeLen(s []byte) int {
	if len(s) == 0 || !letter(s[0]) {
		return 0
	}
	for i, c := range s {
		switch {
		case c == ':':
			return i
		case !alnum(c) && c != '+' && c != '-' && c != '.':
			return 0
		}
	}
	return 0
}
