// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/fetch/reach"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/site"
)

// Wish is the request of an order.
type Wish struct {
	URL      string        `json:"url"`
	Scope    string        `json:"scope,omitempty"` // directory, host or domain
	Depth    int64         `json:"depth,omitempty"` // link hops; 0: no limit
	Files    int64         `json:"files"`           // most, pages and what they show
	Size     job.Size      `json:"size"`            // most, of all bodies
	Types    []string      `json:"types,omitempty"` // as scope.types of a job
	NotTypes []string      `json:"not_types,omitempty"`
	First    job.Order     `json:"first,omitempty"`    // which pages come first: linked, breadth, depth or path; "" is linked
	Language string        `json:"language,omitempty"` // Accept-Language of the requests
	Delay    time.Duration `json:"delay,omitempty"`    // least gap between two requests
	Forms    []string      `json:"forms,omitempty"`    // names of archive.Exports()
	Mail     string        `json:"mail,omitempty"`     // who gets mail when it is ready
	Start    time.Time     `json:"start,omitzero"`     // not before
	Fresh    string        `json:"fresh,omitempty"`    // schedule of the job that keeps it fresh; "": none
	Window   string        `json:"window,omitempty"`   // hours of that job
	Part     bool          `json:"part,omitempty"`     // a part is enough when it is larger than Files or Size
}

// Forms are the names of the archives that can be ordered.
func Forms() (names []string) {
	for _, f := range archive.Exports() {
		if !f.Folder() && f.Name != "warc.gz" {
			names = append(names, f.Name)
		}
	}
	return names
}

// schemeTypo matches what was meant to be http:// or https://.
var schemeTypo = regexp.MustCompile(`^(?i)(h{0,2}t{1,3}p{1,2}s?)(:/{0,3}|;/{1,2}|/{1,3}|:\\\\)`)

// ReadAddress returns the web address that a user meant. What has no scheme gets https. An error says what
// was probably meant.
func ReadAddress(typed string) (string, error) {
	s := strings.TrimSpace(typed)
	if s == "" {
		return "", env.Usagef("url: give the address of a page, such as https://www.example.org/docs/")
	}
	if len(s) > 2000 {
		return "", env.Usagef("url: it has %d bytes; an address has at most 2000", len(s))
	}
	bare := !strings.Contains(s, "://")
	if bare && !schemeTypo.MatchString(s) && !strings.Contains(strings.SplitN(s, "/", 2)[0], "@") {
		s = "https://" + s
	}
	u, _, err := site.Parse(s)
	host := u.Hostname()
	typo := strings.ContainsAny(s, " \t\r\n<>") || strings.Contains(host, ",") || strings.Contains(host, "..")
	if err != nil || typo {
		return "", notAddress(typed, err)
	}
	if bare && !strings.Contains(host, ".") && !reach.IsAddress(host) {
		return "", env.Usagef("url: %q is no address of a site; did you mean https://%s.org/?", typed, host)
	}
	return u.String(), nil
}

// notAddress says what was meant, as far as one can tell.
func notAddress(typed string, err error) error {
	meant := strings.TrimSpace(typed)
	if at := schemeTypo.FindString(meant); at != "" {
		meant = "https://" + meant[len(at):]
	} else if scheme, rest, ok := strings.Cut(meant, "://"); ok {
		if l := strings.ToLower(scheme); l != "http" && l != "https" {
			if len(l) > 5 || !strings.HasPrefix(l, "ht") {
				return env.Usagef("url: %q: only http and https addresses can be mirrored, not %s", typed, scheme)
			}
			meant = "https://" + rest
		}
	} else if !ok {
		meant = "https://" + meant
	}
	meant = strings.NewReplacer(" ", "", "\t", "", "<", "", ">", "", ",", ".", "..", ".").Replace(meant)
	if u, _, perr := site.Parse(meant); perr == nil && meant != typed && strings.Contains(u.Hostname(), ".") {
		return env.Usagef("url: %q is no web address; did you mean %s?", typed, u)
	}
	if err != nil {
		return env.Usagef("url: %q is no web address: %w", typed, err)
	}
	return env.Usagef("url: %q is no web address", typed)
}

// check completes a request and reports its errors.
func (w *Wish) check(l *Limits, now time.Time) error {
	orders := []job.Order{job.OrderLinked, job.OrderBreadth, job.OrderDepth, job.OrderPath}
	url, err := ReadAddress(w.URL)
	if err != nil {
		return err
	}
	w.URL = url
	u, _, _ := site.Parse(url)
	if reach.PrivateName(u.Hostname()) || reach.NeverReachable(u.Hostname()) {
		return env.Usagef("url: %s is an address of a private network, which cannot be ordered", u.Hostname())
	}
	if len(w.Forms) == 0 {
		return env.Usagef("forms: choose at least one of %s", env.Joined(Forms(), "and"))
	}
	for _, f := range w.Forms {
		if !slices.Contains(Forms(), f) {
			return env.Usagef("forms: there is no form %q; choose of %s", f, env.Joined(Forms(), "and"))
		}
	}
	switch {
	case !slices.Contains([]string{"directory", "host", "domain"}, w.Scope):
		return env.Usagef("scope: %q is not valid; want directory, host or domain", w.Scope)
	case w.First != "" && !slices.Contains(orders, w.First):
		return env.Usagef("first: %q is no order; want linked, breadth, depth or path", w.First)
	case len(strings.Join(w.Types, ""))+len(strings.Join(w.NotTypes, "")) > mostTypes:
		return env.Usagef("types: at most %d bytes of names", mostTypes)
	case w.Files < 1 || w.Size < 1:
		return env.Usagef("files, size: give the most that you want, at least 1")
	case w.Depth < 0:
		return env.Usagef("depth: %d is no number of links", w.Depth)
	case w.Delay < l.Delay.Duration():
		return env.Usagef("delay: the operator allows no gap of less than %s between requests",
			count.Span(l.Delay.Duration()))
	case w.Delay > time.Minute:
		return env.Usagef("delay: at most a minute")
	case !w.Start.IsZero() && w.Start.Sub(now) > 31*24*time.Hour:
		return env.Usagef("start: at most a month ahead")
	case w.Fresh == "" && w.Window != "":
		return env.Usagef("window: hours are for a mirror that is kept fresh; say how often")
	}
	if w.Mail != "" {
		a, err := mail.ParseAddress(w.Mail)
		if err != nil || a.Name != "" || len(w.Mail) > 254 {
			return env.Usagef("mail: %q is not an address such as ann@example.org", w.Mail)
		}
		w.Mail = a.Address
	}
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if len(w.Language) > 100 || strings.ContainsFunc(w.Language, odd) {
		return env.Usagef("language: %q is no list of languages such as de, en", w.Language)
	}
	_, err = w.job()
	return err
}

// mostTypes bounds the lists of types: an order has to fit into a message of the keepers of a cluster.
const mostTypes = 16 << 10

// job is the job that the order runs as.
func (w *Wish) job() (*job.Job, error) {
	j := job.Default(w.URL)
	j.Scope.Kind = w.Scope
	j.Scope.Types, j.Scope.NotTypes = w.Types, w.NotTypes
	j.Limits.MaxDepth, j.Limits.MaxFiles, j.Limits.MaxSize = w.Depth, w.Files, w.Size
	j.Limits.MaxBody = min(j.Limits.MaxBody, w.Size)
	j.Limits.MaxTime = mostTime
	j.Limits.MinFree *= 2 // an order ends before a job would
	j.Polite.Delay = w.Delay
	j.Schedule, j.Window = w.Fresh, w.Window
	j.Order = cmp.Or(w.First, job.OrderLinked) // files and bytes are limited: docs/jobs.md, order
	if w.Language != "" {
		j.Auth.Headers = map[string]job.Secret{"Accept-Language": {Value: w.Language}}
	}
	if err := j.Validate(); err != nil {
		return nil, env.Usagef("%w", err)
	}
	j.Name = job.NameFor(j.Seeds()[0])
	return j, nil
}

// runJob is job without what only the job that keeps it fresh has.
func (w *Wish) runJob() (*job.Job, error) {
	once := *w
	once.Fresh, once.Window = "", ""
	return once.job()
}

// mostTime is how long the run of an order may take.
const mostTime = 12 * time.Hour

// same reports whether two orders make the same archives.
func (w *Wish) same(x *Wish) bool { return w.digest() == x.digest() }

// String describes the request in a line.
func (w *Wish) String() string {
	return fmt.Sprintf("%s: %s, at most %s and %s, as %s", w.URL, w.Scope, count.Of(w.Files, "file"), w.Size,
		env.Joined(w.Forms, "and"))
}
