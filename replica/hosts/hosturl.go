// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"
)

// ErrNotURL says that a line is no absolute http or https URL with a host.
var ErrNotURL = errors.New("no http or https URL with a host")

// SplitURL cuts an address into host and path as they are compared: the host in lower case, without user,
// trailing dots, and port 80 or 443; the path with its query, without fragment, at least "/", its bytes as
// they stand. Both are parts of url, or of a copy where the host had to be changed.
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
	end := bytes.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, rest = rest[:end], rest[end:]
	if slices.ContainsFunc(host, isControl) || bytes.ContainsAny(host, `<>"\`) {
		return nil, nil, ErrNotURL
	}
	if at := bytes.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	name, port := host, []byte(nil)
	if colon := bytes.LastIndexByte(host, ':'); colon >= 0 && colon > bytes.LastIndexByte(host, ']') {
		name, port = host[:colon], host[colon+1:]
		if len(bytes.Trim(port, "0123456789")) > 0 {
			return nil, nil, ErrNotURL
		}
	}
	name = bytes.TrimRight(name, ".")
	if !isName(name) {
		return nil, nil, ErrNotURL
	}
	switch {
	case len(port) == 0 || string(port) == "80" || string(port) == "443":
		host = name
	case len(name)+1+len(port) < len(host):
		host = slices.Concat(name, []byte(":"), port)
	}
	return lowerHost(host), rest, nil
}

// isName says whether there is a name, or an IPv6 address in brackets.
func isName(name []byte) bool {
	if len(name) > 0 && name[0] == '[' {
		return len(name) > 2 && bytes.IndexByte(name, ']') == len(name)-1
	}
	return len(name) > 0 && name[0] != '.' && bytes.IndexByte(name, ':') < 0 && bytes.IndexByte(name, ']') < 0
}

// lowerHost puts a host in lower case. Bytes that are no UTF-8 stay.
func lowerHost(host []byte) []byte {
	if utf8.Valid(host) {
		return bytes.ToLower(host)
	}
	host = bytes.Clone(host)
	for i, c := range host {
		if 'A' <= c && c <= 'Z' {
			host[i] = c | 0x20
		}
	}
	return host
}

// splitPath makes the path of what comes after the host.
func splitPath(rest []byte) (path []byte, err error) {
	path = rest
	if hash := bytes.IndexByte(path, '#'); hash >= 0 {
		path = path[:hash]
	}
	if slices.ContainsFunc(path, isControl) {
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

// isControl reports bytes that no URL has.
func isControl(c byte) bool { return c <= ' ' || c == 0x7f }
