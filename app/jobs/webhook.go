// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"net/http"
	"time"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/site"
)

// Webhooks returns what carries messages to the webhooks of jobs, guarded as the job's own requests are.
func Webhooks(a *env.App, names fetch.Names) func(*job.Job) http.RoundTripper {
	return func(j *job.Job) http.RoundTripper { return &webhook{app: a, job: j, names: names} }
}

// webhook makes the exchanges of one job. Its address may come from the environment or a file, so that only
// the request knows it.
type webhook struct {
	app   *env.App
	job   *job.Job
	names fetch.Names
}

func (w *webhook) RoundTrip(r *http.Request) (*http.Response, error) {
	u, _, err := site.Parse(r.URL.String())
	if err != nil {
		return nil, errors.New("the address is no web URL") // and is not shown: it may be a secret
	}
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, err
	}
	o := fetch.Options{
		Reach:   w.job.Reach(u),
		Names:   w.names,
		Network: w.app.Network,
		Log:     w.app.Log,
	}
	if proxy != nil {
		o.Proxy = proxy.String()
	}
	g := fetch.NewGuard(o)
	if err := g.Check(u); err != nil {
		return nil, err
	}
	t := &http.Transport{
		Proxy:               http.ProxyURL(proxy),
		DialContext:         g.Dial,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableKeepAlives:   true,
	}
	return t.RoundTrip(r)
}
