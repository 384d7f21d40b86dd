// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Some servers answer an error to each conditional request, as a cache or script in front of them that cannot
// do with conditions does. What failed is requested once more without; as every page of such a server would
// be requested twice, and each page of a server that is just failing as well, what came of it is remembered.

const (
	guiltyAfter   = 2 // errors in a row that went away without the condition: no more are sent
	innocentAfter = 2 // errors that stayed: no more requests are repeated for this reason
)

// conditions records how origins respond to conditional requests. It is safe for concurrent use.
type conditions struct {
	mu sync.Mutex
	of map[string]*verdicts // by origin; those without such errors are not in it
}

type verdicts struct{ guilty, innocent int }

// send reports whether requests to an origin may be conditional.
func (c *conditions) send(origin string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.of[origin]
	return v == nil || v.guilty < guiltyAfter
}

// blame reports whether an error to a conditional request is worth a request without the condition.
func (c *conditions) blame(origin string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.of[origin]
	return v == nil || v.innocent < innocentAfter
}

// tried takes what the request without the condition came to: good when it got an answer that is no error.
func (c *conditions) tried(origin string, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.of[origin]
	if v == nil {
		v = new(verdicts)
		if c.of == nil {
			c.of = map[string]*verdicts{}
		}
		c.of[origin] = v
	}
	if good {
		v.guilty++
		v.innocent = 0
	} else {
		v.innocent++
	}
}

// answered takes that a conditional request got an answer that is no error.
func (c *conditions) answered(origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.of[origin]; v != nil && v.guilty < guiltyAfter {
		v.guilty = 0
	}
}

// mayBeOfCondition reports whether a status is an error that a condition may cause. 503 and 504 are those of
// a server with too much to do, larger ones than 510 those of a network before it.
func mayBeOfCondition(status int) bool {
	return status >= 500 && status <= 510 &&
		status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout
}

// confirms reports whether an answer is a 304 that confirms the stored body whose validators a request sent
// (RFC 9111 §4.3.4). One of the two that is the same confirms it: servers that share a site give the same
// date with entity tags of their own. Without validators in the answer its status is believed.
func confirms(req *Request, h *Head) bool {
	if h.Status != http.StatusNotModified {
		return false
	}
	tags := req.ETag != "" && h.ETag != ""
	if tags && sameTag(req.ETag, h.ETag) {
		return true
	}
	was, err := http.ParseTime(req.LastModified)
	now, errNow := http.ParseTime(h.LastModified)
	if err == nil && errNow == nil {
		return was.Equal(now)
	}
	return !tags
}

// sameTag compares entity tags weakly (RFC 9110 §8.8.3.2) and without what servers append to that of a body
// which they send with a content coding.
func sameTag(a, b string) bool { return opaqueTag(a) == opaqueTag(b) }

func opaqueTag(tag string) string {
	tag = strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
	i := strings.LastIndexAny(tag, "-;:.")
	if i >= 0 && slices.Contains([]string{"gzip", "gz", "br", "zstd", "deflate", "df"}, tag[i+1:]) {
		tag = strings.TrimRight(tag[:i], "-;:.")
	}
	return tag
}
