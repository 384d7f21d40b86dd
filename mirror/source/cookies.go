// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// parseCookies reads a Netscape cookie file: domain, subdomains, path, secure, expiry in Unix seconds, name,
// value; tabs between.
func parseCookies(data []byte) ([]*http.Cookie, error) {
	var out []*http.Cookie
	for n, line := range bytes.Split(data, []byte{'\n'}) {
		s := strings.TrimRight(string(line), "\r")
		httpOnly := strings.HasPrefix(s, "#HttpOnly_")
		s = strings.TrimPrefix(s, "#HttpOnly_")
		if strings.TrimSpace(s) == "" || s[0] == '#' {
			continue
		}
		f := strings.Split(s, "\t")
		if len(f) != 7 {
			return nil, fmt.Errorf("line %d: %d fields, a cookie has 7 with tabs between", n+1, len(f))
		}
		expires, err := strconv.ParseInt(f[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: expiry %q is not a number of seconds", n+1, f[4])
		}
		domain := strings.TrimPrefix(f[0], ".")
		if f[1] == "TRUE" {
			domain = "." + domain
		}
		c := &http.Cookie{
			Domain:   domain,
			Path:     f[2],
			Secure:   f[3] == "TRUE",
			Name:     f[5],
			Value:    f[6],
			HttpOnly: httpOnly,
		}
		if expires > 0 {
			c.Expires = time.Unix(expires, 0)
		}
		out = append(out, c)
	}
	return out, nil
}
