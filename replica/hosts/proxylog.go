// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"errors"
	"regexp"
)

// errNoPage says that a line of a proxy's log names no page that was had: a tunnel, another method than GET
// and HEAD, or a status of 400 and more.
var errNoPage = errors.New("a request of a proxy without a page")

var (
	// time, elapsed, client, code/status, bytes, method, URL, user, hierarchy/peer, type
	squidLine = regexp.MustCompile(`^\d{9,}\.\S*\s+\S+\s+\S+\s+[^/\s]*/(?P<status>\d+)\s+\S+\s+(?P<method>\S+)` +
		`\s+(?P<url>\S+)`)
	// host, identity, user, [time], "METHOD URL PROTOCOL", status and so on
	combinedLine = regexp.MustCompile(`\] "(?P<method>[^" ]*) (?P<url>[^ ]*?)(?: [^"]*)?" (?P<status>\d+)(?: |$)`)
)

// proxyURL finds the URL in a line of the log of a proxy, in Squid's native form or in the combined (or
// common) form; nil for other lines. Of the requests in such a log, only those with a page count: the
// error is errNoPage for all others.
func proxyURL(line []byte) ([]byte, error) {
	for _, form := range []*regexp.Regexp{squidLine, combinedLine} {
		m := form.FindSubmatch(line)
		if m == nil {
			continue
		}
		field := func(name string) []byte { return m[form.SubexpIndex(name)] }
		method, status, url := string(field("method")), field("status"), field("url")
		if (method != "GET" && method != "HEAD") || len(status) != 3 || status[0] < '2' || status[0] > '3' {
			return nil, errNoPage
		}
		if isHTTP(url) {
			return url, nil
		}
		break // the log of a server, which does not say its host
	}
	return nil, nil
}
