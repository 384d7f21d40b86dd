// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"slices"

	"mirrord/site"
)

// Bounds of the cookies that are sent with a request. A site that sets another one with each page would else
// get a header that servers refuse (nginx: more than 8 KiB in a line); curl sends no more either. The first
// ones stay, as those of a session come first.
const (
	mostCookies     = 150
	mostCookieBytes = 7 << 10 // of names and values with what stands between
	longestCookie   = 4 << 10 // name and value, RFC 6265bis §5.7
)

// keepCookies takes what an answer sets, as far as there is room.
func (c *Client) keepCookies(u site.URL, set []*http.Cookie) {
	at := cookieURL(u)
	sizes, all := map[string]int{}, 0
	for _, k := range c.jar.Cookies(at) {
		sizes[k.Name] = cookieBytes(k)
		all += cookieBytes(k)
	}
	now := c.Now()
	c.jar.SetCookies(at, slices.DeleteFunc(set, func(k *http.Cookie) bool {
		if ends := k.MaxAge < 0 || (!k.Expires.IsZero() && k.Expires.Before(now)); ends {
			return false
		}
		was, known := sizes[k.Name]
		n := cookieBytes(k)
		full := all-was+n > mostCookieBytes || (!known && len(sizes) >= mostCookies)
		if full || len(k.Name)+len(k.Value) > longestCookie {
			return true
		}
		sizes[k.Name] = n
		all += n - was
		return false
	}))
}

// cookieBytes is how much of a header a cookie takes.
func cookieBytes(k *http.Cookie) int { return len(k.Name) + len(k.Value) + len("=; ") }
