// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/store"
)

// World is where a job's secrets and files come from, and what its connections go through.
type World struct {
	LookupEnv func(string) (string, bool)
	ReadFile  func(string) ([]byte, error)
	Names     fetch.Names   // which names were ever public; default for the life of the client
	Network   fetch.Network // default the system
}

// NewClient makes the client of a job. An error names the key of the job file that is at fault.
func NewClient(j *job.Job, w World, log *slog.Logger) (*fetch.Client, error) {
	o := fetch.Options{
		UserAgent: j.Polite.UserAgent, ConnectTimeout: j.Polite.ConnectTimeout, HeaderTimeout: j.Polite.HeaderTimeout, IdleTimeout: j.Polite.IdleTimeout,
		TotalTimeout: j.Polite.TotalTimeout, MinRate: orNone(int64(j.Polite.MinRate)), MaxBody: orNone(int64(j.Limits.MaxBody)), MaxRatio: float64(j.Limits.MaxRatio),
		MaxConnsPerHost: int(j.Polite.Connections), DisableHTTP2: !j.Polite.HTTP2, InsecureTLS: j.TLS.Insecure, Cookies: j.Auth.Cookies,
		Retries: int(orNone(j.Limits.Retries)), Proxy: j.Proxy, AuthHeader: map[string]string{}, Log: log,
		Reach: j.Reach(), Names: w.Names, Network: w.Network,
	}
	for _, u := range j.Seeds() {
		o.AuthOrigins = append(o.AuthOrigins, u.Origin())
	}
	for _, u := range j.AlternateURLs() { // secrets are not for them
		o.NoCookies = append(o.NoCookies, u.Hostname())
	}
	if j.Polite.Bandwidth > 0 {
		o.Bandwidth = rate.NewLimiter(rate.Limit(j.Polite.Bandwidth), int(max(j.Polite.Bandwidth, 64<<10)))
	}
	var errs []error
	secret := func(key string, s job.Secret) string {
		if s.IsZero() {
			return ""
		}
		v, err := s.Resolve(w.LookupEnv, w.ReadFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
		return v
	}
	if j.Auth.User != "" {
		o.BasicUser, o.BasicPassword = j.Auth.User, secret("auth.password", j.Auth.Password())
	}
	for name, s := range j.Auth.Headers {
		o.AuthHeader[name] = secret("auth.headers."+name, s)
	}
	if j.Auth.ProxyUser != "" && j.Proxy != "" {
		if p, err := url.Parse(j.Proxy); err == nil {
			p.User = url.UserPassword(j.Auth.ProxyUser, secret("auth.proxy_password", j.Auth.ProxyPassword()))
			o.Proxy = p.String()
		}
	}
	if j.TLS.CAFile != "" {
		pem, err := w.ReadFile(j.TLS.CAFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("tls.ca_file: %w", err))
		}
		o.CAFile = pem
	}
	if j.Auth.CookiesFile != "" {
		data, err := w.ReadFile(j.Auth.CookiesFile)
		if err == nil {
			o.CookiePreset, err = parseCookies(data)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("auth.cookies_file: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return fetch.New(o)
}

// orNone turns "0 is none" of job files into "negative is none" of fetch.Options.
func orNone(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// parseCookies reads a Netscape cookie file: domain, subdomains, path, secure, expiry in Unix seconds, name, value; tabs between.
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
		c := &http.Cookie{Domain: domain, Path: f[2], Secure: f[3] == "TRUE", Name: f[5], Value: f[6], HttpOnly: httpOnly}
		if expires > 0 {
			c.Expires = time.Unix(expires, 0)
		}
		out = append(out, c)
	}
	return out, nil
}

// NewRobots makes the robots cache of a job.
func NewRobots(j *job.Job, c *fetch.Client, s fetch.RobotsStore) *fetch.RobotsCache {
	return fetch.NewRobotsCache(c, fetch.RobotsOptions{Agent: job.ProductToken(j.Polite.UserAgent), Store: s, Politeness: Politeness(j)})
}

var (
	_ Fetcher = (*fetch.Client)(nil)
	_ Hosts   = (*fetch.Hosts)(nil)
	_ Robots  = (*fetch.RobotsCache)(nil)
)

// robotsStore keeps robots.txt of origins where all sites have it.
type robotsStore struct{ s HostFacts }

// NewRobotsStore returns the store of robots.txt that robots caches share.
func NewRobotsStore(s HostFacts) fetch.RobotsStore { return robotsStore{s} }

func (r robotsStore) LoadRobots(origin string) (fetch.RobotsRecord, bool, error) {
	f, ok, err := r.s.LoadHost(origin)
	return fetch.RobotsRecord{Origin: origin, Status: f.Status, Body: f.Body, Fetched: f.Fetched, ETag: f.ETag}, ok, err
}

func (r robotsStore) SaveRobots(rec fetch.RobotsRecord) error {
	return r.s.SaveHost(rec.Origin, store.HostFact{Fetched: rec.Fetched, Status: rec.Status, Body: rec.Body, ETag: rec.ETag})
}
