// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"sync"
)

// Some servers answer an error to each conditional request, as a cache or script in front of them that cannot
// do with conditions does. What failed is requested once more without; as every page of such a server would
// be requested twice, and each page of a server that is just failing as well, what came of it is remembered.

const (
	guiltyAfter   = 2 // errors in a row that went away without the condition: none is sent any more
	innocentAfter = 2 // errors that stayed: no request is repeated for this reason any more
)

// conditions is what is known of how origins take conditional requests. It is safe for concurrent use.
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
