// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/fetch/reach"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Bounds of what check asks the resolver.
const (
	checkTime    = 10 * time.Second
	checkAtATime = 16
	checkOrigins = 2000            // of all jobs together
	checkMirrors = 5 * time.Second // of opening mirrors for their origins
)

// errEnough ends a walk.
var errEnough = errors.New("enough")

// reachQuestion is an origin that a job will ask.
type reachQuestion struct {
	job    *job.Job
	guard  *fetch.Guard
	url    site.URL
	where  string // what names it: "url", "alternates" …
	answer error
}

// checkReach finds out which jobs are about to be refused private addresses, by their job and in the order in
// which the job names them. Names that could not be resolved are unknown.
func checkReach(
	ctx context.Context, a *env.App, files []scheduler.File, resolve bool,
) (warnings map[*job.Job][]string, unknown []string) {
	st, ok, err := a.OpenState()
	if err != nil {
		a.Log.Debug("the state is not looked at", "err", err)
	}
	var names fetch.Names
	if ok && err == nil {
		defer st.Close()
		names = onlyRead{st.PublicNames}
	} else {
		st = nil
	}
	var all []*reachQuestion
	begun := a.Clock()
	for _, f := range files {
		if f.Err != nil || f.Job == nil {
			continue
		}
		if st != nil && a.Clock().Sub(begun) > checkMirrors {
			a.Warning(
				fmt.Sprintf(
					"mirrord: from %s on only the job files are looked at: opening the mirrors takes too long; name "+
						"files to check them", f.Path))
			st = nil
		}
		all = append(all, reachQuestions(a, f.Job, st, names, resolve, checkOrigins-len(all))...)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	env.AtOnce(checkAtATime, all, func(q *reachQuestion) { q.answer = q.guard.Would(ctx, q.url) })
	warnings = map[*job.Job][]string{}
	for _, f := range files {
		own := slices.DeleteFunc(slices.Clone(all), func(q *reachQuestion) bool { return q.job != f.Job })
		lines, open := reachWarnings(f.Job, own)
		if len(lines) > 0 {
			warnings[f.Job] = lines
		}
		unknown = append(unknown, open...)
	}
	slices.Sort(unknown)
	return warnings, slices.Compact(unknown)
}

// onlyRead is a memory that check does not write.
type onlyRead struct{ fetch.Names }

func (onlyRead) KeepPublic(string) error { return nil }

// reachQuestions lists the origins of a job that may be private: those that its keys name, and those that its
// mirror has files of.
func reachQuestions(
	a *env.App, j *job.Job, st *store.State, names fetch.Names, resolve bool, most int,
) (out []*reachQuestion) {
	seen := map[string]bool{}
	add := func(where string, g *fetch.Guard, u site.URL) {
		certain := j.Proxy != "" || reach.IsAddress(u.Hostname())
		if len(out) < most && !seen[u.Origin()] && (resolve || certain) {
			seen[u.Origin()] = true
			out = append(out, &reachQuestion{
				job:   j,
				guard: g,
				url:   u,
				where: where,
			})
		}
	}
	proxy, _, _ := j.ProxyServer()
	guard := func(p reach.Policy) *fetch.Guard {
		return fetch.NewGuard(fetch.Options{
			Reach:          p,
			Names:          names,
			Network:        a.Network,
			Proxy:          proxy,
			ConnectTimeout: checkTime,
		})
	}
	g := guard(j.Reach())
	for _, u := range j.Seeds() {
		add("url", g, u)
	}
	for _, u := range j.AlternateURLs() {
		add("alternates", g, u)
	}
	for _, raw := range j.Scope.Prefixes {
		if u, _, err := site.Parse(strings.TrimSpace(raw)); err == nil {
			add("scope", g, u)
		}
	}
	if st != nil {
		err := originsOf(st, j.Name, func(u site.URL) bool {
			add("a file of the mirror", g, u)
			return len(out) < most
		})
		if err != nil {
			a.Log.Debug("the origins of the mirror are not looked at", "job", j.Name, "err", err)
		}
	}
	// one that is a secret names itself when a message goes
	if u, _, err := site.Parse(j.Notify.Webhook.Value); err == nil {
		seen = map[string]bool{}
		add("notify.webhook", guard(j.Reach(u)), u)
	}
	return out
}

// originsOf calls f for the origins that a site holds files of, until it returns false.
func originsOf(st *store.State, name string, f func(site.URL) bool) error {
	err := env.View(st, name, func(s *store.Site) error {
		last := ""
		return s.Records.Resources(func(r *record.Resource) error {
			if o := r.URL.Origin(); r.InSet && o != last {
				if last = o; !f(r.URL) {
					return errEnough
				}
			}
			return nil
		})
	})
	if errors.Is(err, errEnough) || errors.Is(err, home.ErrNoSite) {
		return nil
	}
	return err
}

// reachWarnings says which requests are refused to a job and the one line that allows them.
func reachWarnings(j *job.Job, all []*reachQuestion) (lines, unknown []string) {
	var add []reach.Endpoint
	var forget []string
	for _, q := range all {
		var r *reach.Refusal
		switch {
		case q.answer == nil:
			continue
		case !errors.As(q.answer, &r):
			unknown = append(unknown, q.url.Hostname())
			continue
		case r.Why == reach.NotAllowed:
			add = append(add, r.Endpoint)
		}
		if r.WasPublic && r.Why != reach.NeverReached {
			forget = append(forget, r.Host)
		}
		r.Fix = "" // there is one for all of them below
		lines = append(lines, fmt.Sprintf("%s, named by %s, will not be reached: %v", q.url.Origin(), q.where, r))
	}
	if len(add) > 0 {
		p := j.Reach()
		lines = append(lines, "where you trust who runs these hosts and their names, "+p.Line(add...))
	}
	slices.Sort(forget)
	for _, name := range slices.Compact(forget) {
		lines = append(lines,
			fmt.Sprintf("%s was public before; when it has moved inside for good, run %s", name,
				reach.AllowHint(name)))
	}
	return lines, unknown
}
