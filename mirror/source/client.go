// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"golang.org/x/time/rate"

	"mirrord/fetch"
	"mirrord/job"
)

// Surroundings is where a job's secrets and files come from, and what its connections go through.
type Surroundings struct {
	LookupEnv func(string) (string, bool)
	ReadFile  func(string) ([]byte, error)
	Names     fetch.Names   // which names were ever public; default for the life of the client
	Network   fetch.Network // default the system
	NoHeads   bool          // heads of answers are not stored
}

// NewClient makes the client of a job. An error names the key of the job file that is at fault.
func NewClient(j *job.Job, w Surroundings, log *slog.Logger) (*fetch.Client, error) {
	o := clientOptions(j)
	o.Names, o.Network, o.Log, o.NoHeads = w.Names, w.Network, log, w.NoHeads
	c := secrets{Surroundings: w}
	c.passwords(j, &o)
	c.files(j, &o)
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	return fetch.New(o)
}

// clientOptions returns what a job says of its client, without secrets.
func clientOptions(j *job.Job) fetch.Options {
	proxy, _, _ := j.ProxyServer()
	o := fetch.Options{
		UserAgent:       j.Polite.UserAgent,
		ConnectTimeout:  j.Polite.ConnectTimeout,
		HeaderTimeout:   j.Polite.HeaderTimeout,
		IdleTimeout:     j.Polite.IdleTimeout,
		TotalTimeout:    j.Polite.TotalTimeout,
		MinRate:         orNone(int64(j.Polite.MinRate)),
		MaxBody:         orNone(int64(j.Limits.MaxBody)),
		MaxRatio:        float64(j.Limits.MaxRatio),
		MaxConnsPerHost: int(j.Polite.Connections),
		DisableHTTP2:    !j.Polite.HTTP2,
		InsecureTLS:     j.TLS.Insecure,
		Cookies:         j.Auth.Cookies,
		Retries:         int(orNone(j.Limits.Retries)),
		Proxy:           proxy,
		AuthHeader:      map[string]string{},
		Reach:           j.Reach(),
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
	return o
}

// secrets reads what a job refers to outside of its file, and collects its errors.
type secrets struct {
	Surroundings
	errs []error
}

func (c *secrets) secret(key string, s job.Secret) string {
	if s.IsZero() {
		return ""
	}
	v, err := s.Resolve(c.LookupEnv, c.ReadFile)
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", key, err))
	}
	return v
}

func (c *secrets) passwords(j *job.Job, o *fetch.Options) {
	if j.Auth.User != "" {
		o.BasicUser, o.BasicPassword = j.Auth.User, c.secret("auth.password", j.Auth.Password)
	}
	for name, s := range j.Auth.Headers {
		o.AuthHeader[name] = c.secret("auth.headers."+name, s)
	}
	if address, user, password := j.ProxyServer(); user != "" {
		if p, err := url.Parse(address); err == nil {
			p.User = url.UserPassword(user, c.secret("the proxy's password", password))
			o.Proxy = p.String()
		}
	}
}

func (c *secrets) files(j *job.Job, o *fetch.Options) {
	if j.TLS.CAFile != "" {
		pem, err := c.ReadFile(j.TLS.CAFile)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("tls.ca_file: %w", err))
		}
		o.CAFile = pem
	}
	if j.Auth.CookiesFile != "" {
		data, err := c.ReadFile(j.Auth.CookiesFile)
		if err == nil {
			o.CookiePreset, err = parseCookies(data)
		}
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("auth.cookies_file: %w", err))
		}
	}
}

// Politeness is the job's rule for a host.
func Politeness(j *job.Job) fetch.Politeness {
	return fetch.Politeness{
		Connections: int(j.Polite.Connections),
		Delay:       j.Polite.Delay,
		Factor:      j.Polite.Factor,
		MaxDelay:    j.Polite.MaxDelay,
		By:          j.Name,
	}
}

// orNone turns 0, which means none in job files, into -1, which means none in fetch.Options.
func orNone(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}
