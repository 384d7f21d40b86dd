// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mirrord/job"
	"mirrord/site/listing"
)

// Plausible returns the Last-Modified of an answer, "" for one that cannot be true: later than the answer
// itself (RFC 9110 8.8.2.1), or than our clock, or the time that reproducible builds give to all files.
func Plausible(h http.Header, lastModified string, now time.Time) string {
	t, err := http.ParseTime(lastModified)
	if err != nil {
		return ""
	}
	limit := now.Add(time.Minute)
	if at, err := http.ParseTime(h.Get("Date")); err == nil && at.Before(limit) {
		limit = at
	}
	if t.After(limit) || listing.IsPlaceholder(t) {
		return ""
	}
	return lastModified
}

// longestLifetime bounds how long a site may say that something stays as it is.
const longestLifetime = 30 * 24 * time.Hour

// Expires returns until when the site says that what it answered now stays as it is (RFC 9111 4.2), in Unix
// seconds; 0 when it said nothing, or the job does not use it.
func Expires(ev job.Evidence, h http.Header, now time.Time) int64 {
	if !ev.Expiry {
		return 0
	}
	d := lifetime(h, now)
	if d <= 0 {
		return 0
	}
	return now.Add(min(d, longestLifetime)).Unix()
}

// lifetime is the rest of the explicit freshness lifetime of an answer that just came: max-age, else
// Expires, less its age. no-cache and no-store leave nothing, nor does what cannot be read.
func lifetime(h http.Header, now time.Time) time.Duration {
	life, given, stale := maxAge(h)
	if stale {
		return 0
	}
	if !given {
		at, err := http.ParseTime(h.Get("Expires"))
		if err != nil {
			return 0
		}
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date // Expires is by the site's clock
		}
		life = at.Sub(now)
	}
	if age, ok := seconds(h.Get("Age")); ok && life > 0 { // the year 1 is as long ago as a Duration reaches
		life -= age
	}
	return life
}

// maxAge is the lifetime that Cache-Control gives, if it does. stale says that it leaves none.
func maxAge(h http.Header) (life time.Duration, given, stale bool) {
	for field := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch strings.ToLower(name) {
		case "no-cache", "no-store":
			return 0, false, true
		case "max-age":
			d, ok := seconds(value)
			if !ok || (given && d != life) { // RFC 9111 4.2.1: two values are none
				return 0, false, true
			}
			life, given = d, true
		}
	}
	return life, given, false
}

// Stands reports whether an answer may be given to another client now (RFC 9111 3 and 4.2): the site
// keeps it from no cache, and its lifetime, if the site named one, is not over.
func Stands(h http.Header, answered, now time.Time) bool {
	for field := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(field), "=")
		if strings.EqualFold(name, "private") {
			return false
		}
	}
	_, given, stale := maxAge(h)
	if stale || len(h.Values("Set-Cookie")) > 0 {
		return false
	}
	named := given || len(h.Values("Expires")) > 0
	return !named || lifetime(h, answered) > now.Sub(answered)
}

// seconds reads a number of them. More than 68 years count as 68 (RFC 9111 1.2.2).
func seconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.Trim(s, `" `), 10, 31)
	return time.Duration(n) * time.Second, err == nil || errors.Is(err, strconv.ErrRange)
}
