// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
	"time"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/fetch/reach"
	"mirrord/serve"
	"mirrord/site"
)

// Forwarding returns how programs are reached by a server of mirrors; allowPrivate is for all jobs. done
// closes the connections. Each job says which URLs are programs on its site, and which private addresses
// may be reached for it.
func Forwarding(a *env.App, names fetch.Names, allowPrivate bool) (_ *serve.Forward, done func(), _ error) {
	rules, ways := map[string]*site.ProgramRule{}, map[string]*http.Transport{}
	way := func(p reach.Policy) *http.Transport {
		p.All = p.All || allowPrivate
		return &http.Transport{
			DialContext: fetch.NewGuard(fetch.Options{
				Reach:   p,
				Names:   readerNames{names},
				Network: a.Network,
				Log:     a.Log,
			}).Dial,
			TLSHandshakeTimeout:    10 * time.Second,
			ResponseHeaderTimeout:  30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxConnsPerHost:        8,
			IdleConnTimeout:        30 * time.Second,
			ForceAttemptHTTP2:      true,
		}
	}
	other := way(reach.Policy{}) // of mirrors without a job
	files, err := a.JobFiles()
	if err != nil {
		a.Log.Debug("no job files: programs are recognized by the default rule", "err", err)
	}
	for _, name := range files {
		j, err := a.JobsDir().ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			a.Log.Warn("job file left out", "err", err)
			continue
		}
		rule, err := j.ProgramRule()
		if err != nil {
			return nil, nil, fmt.Errorf("job %s: %w", j.Name, err)
		}
		rules[j.Name] = rule
		ways[j.Name] = way(j.Reach())
	}
	transport := func(name string) http.RoundTripper {
		if t := ways[name]; t != nil {
			return t
		}
		return other
	}
	done = func() {
		other.CloseIdleConnections()
		for _, t := range ways {
			t.CloseIdleConnections()
		}
	}
	return &serve.Forward{
		Transport: transport,
		Programs:  func(name string) *site.ProgramRule { return rules[name] },
	}, done, nil
}

// readerNames is the memory of a server that may not write to the state: what it would add, runs of the
// mirror have added already.
type readerNames struct{ fetch.Names }

func (r readerNames) KeepPublic(name string) error {
	err := r.Names.KeepPublic(name)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}
