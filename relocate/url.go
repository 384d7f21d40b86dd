package relocate

// The classes of bytes in a reference.
const (
	urlReserved = 1 << iota // anything but [A-Za-z0-9._~/-]
	urlForeign              // not ASCII
	urlColon
	urlEscape // must be decoded in an attribute: & CR NUL
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
	t['&'] |= urlEscape
	t['\r'] |= urlEscape
	t[0] |= urlEscape
	return t
}()

// url records the reference that v, a decoded value, holds and returns the link's index; or -1 when it is none: empty, only a
// fragment, or of a scheme that is not the web's.
func (sc *scanner) url(v view, kind Kind, ctx Context, nofollow bool) int {
	b := v.s
	i, end := 0, len(b)
	for i < end && b[i] <= ' ' {
		i++
	}
	for end > i && b[end-1] <= ' ' {
		end--
	}
	start, acc := i, uint8(0)
	for ; i < end && b[i] != '#'; i++ {
		acc |= urlClass[b[i]]
	}
	return sc.link(v, start, i, acc, kind, ctx, nofollow)
}

// attrURL is url for an attribute value as it is written. Most need no decoding, and their fragment need not even be looked at.
func (sc *scanner) attrURL(v view, kind Kind, ctx Context, nofollow bool) int {
	b := v.s
	i, end := 0, len(b)
	for i < end && b[i] <= ' ' && b[i] != 0 { // NUL is decoded to U+FFFD
		i++
	}
	for end > i && b[end-1] <= ' ' && b[end-1] != 0 {
		end--
	}
	start, acc := i, uint8(0)
	for ; i < end && b[i] != '#'; i++ {
		acc |= urlClass[b[i]]
	}
	if acc&urlEscape != 0 || acc&urlForeign != 0 && !v.utf8 && !sc.cs.utf8() {
		return sc.url(sc.attrText(v, false), kind, ctx, nofollow)
	}
	return sc.link(v, start, i, acc, kind, ctx, nofollow)
}

// link records the reference b.s[start:end], whose bytes have the classes acc.
func (sc *scanner) link(v view, start, end int, acc uint8, kind Kind, ctx Context, nofollow bool) int {
	b := v.s
	if start == end {
		// Another document only under a <base>, and only for hyperlinks: a bare fragment means the document itself in CSS (CSS Values,
		// section 4.5.1) and SVG (SVG 2, section 16.1.2), an empty src nothing, an empty action the document.
		if kind != Hyperlink {
			return -1
		}
		if !sc.keepEmpty {
			sc.sawEmpty = true
			return -1
		}
	}
	absolute := false
	if acc&urlColon != 0 {
		if n := schemeLen(b[start:end]); n > 0 {
			s := b[start : start+n]
			if !equalFold(s, "http") && !equalFold(s, "https") {
				return -1
			}
			rest := b[start+n+1 : end]
			absolute = len(rest) > 2 && rest[0] == '/' && rest[1] == '/'
		}
	}
	d := sc.d
	if len(d.Links) >= sc.in.MaxLinks {
		d.Truncated = true
		return -1
	}
	ref := b[start:end:end]
	if acc&urlForeign != 0 {
		if !v.utf8 && !sc.cs.utf8() {
			ref = sc.cs.decode(ref)
		}
		ref = sc.queryIn(ref)
	}
	d.Links = append(d.Links, Link{
		Start:    v.at(start),
		End:      v.at(end),
		Ctx:      ctx,
		Kind:     kind,
		NoFollow: nofollow,
		Absolute: absolute,
		Plain:    acc&urlReserved == 0 && !v.escaped && start < end && b[start] != '/',
		Ref:      ref,
	})
	return len(d.Links) - 1
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
