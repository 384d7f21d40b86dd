// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"errors"
)

// errNoPage says that a line of a proxy's log names no page that was had: a tunnel, another method than GET
// and HEAD, or a status of 400 and more.
var errNoPage = errors.New("a request of a proxy without a page")

// proxyURL finds the URL in a line of the log of a proxy, in Squid's native form or in the combined (or
// common) form; nil for other lines. Of the requests in such a log, only those with a page count: the
// error is errNoPage for all others.
func proxyURL(line []byte) ([]byte, error) {
	if method, url, status, ok := squidLine(line); ok {
		return loggedURL(method, url, status)
	}
	if method, url, status, ok := combinedLine(line); ok {
		return loggedURL(method, url, status)
	}
	return nil, nil
}

func loggedURL(method, url, status []byte) ([]byte, error) {
	isRead := string(method) == "GET" || string(method) == "HEAD"
	if !isRead || len(status) != 3 || status[0] < '2' || status[0] > '3' {
		return nil, errNoPage
	}
	if !isHTTP(url) {
		return nil, nil // the log of a server, which does not say its host
	}
	return url, nil
}

// squidLine takes a line of Squid's native log apart: time, elapsed, client, code/status, bytes, method, URL,
// user, hierarchy/peer, type.
func squidLine(line []byte) (method, url, status []byte, ok bool) {
	seconds, _, ok := bytes.Cut(line, []byte("."))
	if !ok || len(seconds) < 9 || !isNumber(seconds) {
		return nil, nil, nil, false
	}
	var fields [7][]byte
	rest := line
	for i := range fields {
		rest = bytes.TrimLeft(rest, " \t")
		end := bytes.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		fields[i], rest = rest[:end], rest[end:]
	}
	_, status, ok = bytes.Cut(fields[3], []byte("/"))
	if !ok || !isNumber(status) || len(fields[6]) == 0 {
		return nil, nil, nil, false
	}
	return fields[5], fields[6], status, true
}

// combinedLine takes a line of the common or combined form apart: host, identity, user, [time], "METHOD URL
// PROTOCOL", status and so on.
func combinedLine(line []byte) (method, url, status []byte, ok bool) {
	_, rest, ok := bytes.Cut(line, []byte(`] "`))
	if !ok {
		return nil, nil, nil, false
	}
	request, rest, ok := bytes.Cut(rest, []byte(`" `))
	if !ok {
		return nil, nil, nil, false
	}
	method, rest2, ok := bytes.Cut(request, []byte(" "))
	if !ok {
		return nil, nil, nil, false
	}
	url, _, _ = bytes.Cut(rest2, []byte(" "))
	status, _, _ = bytes.Cut(rest, []byte(" "))
	return method, url, status, isNumber(status)
}

func isNumber(b []byte) bool { return len(b) > 0 && len(bytes.Trim(b, "0123456789")) == 0 }
