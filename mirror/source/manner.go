// SPDX-License-Identifier: Apache-2.0

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mirrord/job"
	"mirrord/mirror/urls"
)

// manner is how a job shows itself to sites, as far as an answer may depend on it, and since when. It is kept
// with the site, so that another job knows what the bodies are that the site sent.
type manner struct {
	Agent string `json:"agent"`
	Way   string `json:"way"`   // digest of proxy, certificates and which private addresses are reached
	Shown bool   `json:"shown"` // credentials, cookies, or headers of its own
	Since int64  `json:"since"` // Unix seconds
}

const mannerFact = "manner"

// mannerOf returns the manner of a job.
func mannerOf(j *job.Job, now time.Time) manner {
	inside := []string{fmt.Sprint(j.Polite.AllowPrivate.All)}
	for _, r := range j.Polite.AllowPrivate.Rules {
		inside = append(inside, r.String())
	}
	proxy, _, _ := j.ProxyServer()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q", proxy, j.TLS.CAFile, j.TLS.Insecure, inside))
	return manner{
		Agent: j.Polite.UserAgent,
		Way:   hex.EncodeToString(sum[:8]),
		Shown: j.Auth.Given() || j.Auth.Cookies,
		Since: now.Unix(),
	}
}

// readManner reads that of the last runs of a site; false: it is not known.
func readManner(f urls.Facts) (m manner, ok bool, err error) {
	return urls.ReadFact[manner](f, mannerFact)
}

// keep notes the manner of a run with its site, before the first request.
func (m manner) keep(f urls.Facts) error {
	was, ok, err := readManner(f)
	if err != nil {
		return err
	}
	since := m.Since
	if m.Since = was.Since; ok && was == m {
		return nil
	}
	m.Since = since
	return urls.WriteFact(f, mannerFact, m)
}

// fits reports whether a site answers two jobs alike, as far as their requests go.
func (m manner) fits(o manner) bool { return m.Way == o.Way && !m.Shown && !o.Shown }

// varies reports whether an answer is one of several, of which another client, or another link, may get
// another one (RFC 9110 12.5.5). All other fields of requests are the same for all jobs without credentials.
func (m manner) varies(h http.Header, o manner) bool {
	for field := range strings.SplitSeq(strings.Join(h.Values("Vary"), ","), ",") {
		field = strings.ToLower(strings.TrimSpace(field))
		if slices.Contains([]string{"*", "referer"}, field) || (field == "user-agent" && m.Agent != o.Agent) {
			return true
		}
	}
	return false
}
