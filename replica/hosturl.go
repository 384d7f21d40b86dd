package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrNotURL says that a line is no absolute http or https URL with a host.
var ErrNotURL = errors.New("no http or https URL with a host")

// SplitURL cuts an address into host and path as they are compared: the host in lower case, without user, trailing dot, and port 80 or 443;
// the path with its query, without fragment, at least "/", its bytes as they stand. Both are parts of url, or of a copy where the host had
// to be changed.
func SplitURL(url []byte) (host, path []byte, err error) {
	host, rest, err := splitHost(url)
	if err != nil {
		return nil, nil, err
	}
	path, err = splitPath(rest)
	if err != nil {
		return nil, nil, err
	}
	return host, path, nil
}

// splitHost cuts off the host; rest begins with the slash, question mark or hash that ends it, or is empty.
func splitHost(url []byte) (host, rest []byte, err error) {
	switch {
	case len(url) >= 7 && bytes.EqualFold(url[:7], []byte("http://")):
		rest = url[7:]
	case len(url) >= 8 && bytes.EqualFold(url[:8], []byte("https://")):
		rest = url[8:]
	default:
		return nil, nil, ErrNotURL
	}
	end, upper := 0, false
	for ; end < len(rest) && rest[end] != '/' && rest[end] != '?' && rest[end] != '#'; end++ {
		if c := rest[end]; c <= ' ' || c == 0x7f || c == '<' || c == '>' || c == '"' || c == '\\' {
			return nil, nil, ErrNotURL
		}
		upper = upper || 'A' <= rest[end] && rest[end] <= 'Z'
	}
	host, rest = rest[:end], rest[end:]
	if at := bytes.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if colon := bytes.LastIndexByte(host, ':'); colon >= 0 && colon > bytes.LastIndexByte(host, ']') {
		port := host[colon+1:]
		if len(bytes.Trim(port, "0123456789")) > 0 {
			return nil, nil, ErrNotURL
		}
		if len(port) == 0 || string(port) == "80" || string(port) == "443" {
			host = bytes.TrimSuffix(host[:colon], []byte("."))
		}
	}
	host = bytes.TrimSuffix(host, []byte("."))
	if len(host) == 0 || host[0] == ':' || host[0] == '.' {
		return nil, nil, ErrNotURL
	}
	if upper {
		host = bytes.ToLower(host)
	}
	return host, rest, nil
}

// splitPath makes the path of what comes after the host.
func splitPath(rest []byte) (path []byte, err error) {
	path = rest
	if hash := bytes.IndexByte(path, '#'); hash >= 0 {
		path = path[:hash]
	}
	if hasControl(path) {
		return nil, ErrNotURL
	}
	switch {
	case len(path) == 0:
		path = []byte("/")
	case path[0] == '?':
		path = append([]byte("/"), path...)
	}
	return path, nil
}

// hasControl says whether there is a blank or control character, eight bytes at a time: a byte below 0x21 borrows from its highest bit, and so
// does one that is 0 after 0x7f was taken away by exclusive or.
func hasControl(b []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		y := x ^ 0x7f*ones
		if ((x-0x21*ones)&^x|(y-ones)&^y)&high != 0 {
			return true
		}
	}
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return true
		}
	}
	return false
}
