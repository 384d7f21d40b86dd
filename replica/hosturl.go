package replica

import (
	"bytes"
	"errors"
)

// ErrNotURL says that a line is no absolute http or https URL with a host.
var ErrNotURL = errors.New("no http or https URL with a host")

// SplitURL cuts an address into host and path as they are compared: the host in lower case, without user, trailing dot, and port 80 or 443;
// the path with its query, without fragment, at least "/", its bytes as they stand. Both are parts of url, or of a copy where the host had
// to be changed.
func SplitURL(url []byte) (host, path []byte, err error) {
	rest := url
	switch {
	case len(rest) >= 7 && bytes.EqualFold(rest[:7], []byte("http://")):
		rest = rest[7:]
	case len(rest) >= 8 && bytes.EqualFold(rest[:8], []byte("https://")):
		rest = rest[8:]
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
	host, path = rest[:end], rest[end:]
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
	if hash := bytes.IndexByte(path, '#'); hash >= 0 {
		path = path[:hash]
	}
	for _, c := range path {
		if c <= ' ' || c == 0x7f {
			return nil, nil, ErrNotURL
		}
	}
	switch {
	case len(path) == 0:
		path = []byte("/")
	case path[0] == '?':
		path = append([]byte("/"), path...)
	}
	return host, path, nil
}
