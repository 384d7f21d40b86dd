// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Preview is what a few requests say of the first run of a job.
type Preview struct {
	Job      string        `json:"job"`
	URL      string        `json:"url"`               // the entry point
	Entry    string        `json:"entry"`             // what became of it
	Problem  string        `json:"problem,omitempty"` // why there is nothing to mirror
	Leads    string        `json:"leads,omitempty"`   // where the entry point leads, when that is elsewhere
	Robots   string        `json:"robots"`            // what robots.txt says
	Sitemaps []string      `json:"sitemaps,omitempty"`
	Programs []string      `json:"programs,omitempty"` // that make the pages, with profiles (mirrord help profiles)
	Pages    int           `json:"pages,omitempty"`    // that were fetched
	Scripted int           `json:"scripted,omitempty"` // of these without text: their scripts make it
	Requests []PreviewLook `json:"requests"`
	Whole    bool          `json:"whole,omitempty"` // these were all: the figures are exact

	// URLs that the scope takes in, as far as they are known
	Known      int          `json:"known"`
	Disallowed int          `json:"disallowed,omitempty"` // of those, by robots.txt
	Dirs       []PreviewDir `json:"dirs,omitempty"`       // where they lie, the largest first

	// between which numbers of files the mirror will probably have
	Least int64 `json:"least"`
	Most  int64 `json:"most"` // and to

	// A first run makes at least so many requests; bytes and time follow from those that were made.
	Bytes   int64   `json:"bytes,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// PreviewLook is one request of a preview.
type PreviewLook struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // 0 without an answer
}

// PreviewDir is a directory that the scope takes in.
type PreviewDir struct {
	Path    string `json:"path"` // host and first segment
	URLs    int    `json:"urls"`
	Example string `json:"example"`
}

// A preview makes at most previewRequests requests, and takes no longer than previewTime and no larger bodies
// than previewBody.
const (
	previewRequests = 20
	previewTime     = 2 * time.Minute
	previewBody     = 16 << 20 // bytes
	previewDirs     = 12       // that are listed
)

// PreviewRun begins the first run of a job in a directory that is thrown away, ends it after a few requests,
// and says what it came to know. It is polite as the job is. Nothing of the state is changed.
func PreviewRun(ctx context.Context, a *env.App, j *job.Job) (_ *Preview, err error) {
	dir, err := os.MkdirTemp("", "mirrord-plan-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := store.OpenState(dir, store.Options{Volatile: true, Now: a.Clock})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.OpenSite(cmp.Or(j.Name, "preview"))
	if err != nil {
		return nil, err
	}
	defer s.Close()
	client, err := source.NewClient(j, a.World(st.PublicNames), a.Log)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	defer client.Close()
	some, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	looks := &lookCounter{
		fetcher: client,
		robots:  source.NewRobots(j, client, st.Shared),
		most:    previewRequests,
		enough:  cancel,
		origins: map[string]bool{},
		made:    []PreviewLook{},
	}
	sum, err := mirror.Run(some, mirror.Options{
		Job:     previewJob(j),
		State:   st,
		Site:    s,
		Fetcher: looks,
		Robots:  looks,
		Hosts:   a.Politeness(),
		Log:     a.Log,
		Now:     st.Now,
	})
	if (sum == nil) || (ctx.Err() != nil) {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	p := &Preview{Job: j.Name, URL: j.Seeds()[0].String(), Requests: looks.made}
	p.Whole = sum.Verdict.Finished() && (len(looks.made) < previewRequests)
	if err := p.read(ctx, j, s, looks); err != nil {
		return nil, err
	}
	if p.Leads = status.LeadsTo(strings.Join(sum.Reasons, "\n")); p.Leads != "" && p.Problem == "" {
		p.Problem = fmt.Sprintf("the entry point %s redirects to %s, which is not mirrored", p.URL, p.Leads)
	}
	return p, nil
}

// PlanOrPreview is Plan for a job with a mirror, and PreviewRun for a job without one, or for a URL. The
// other result is nil.
func PlanOrPreview(
	ctx context.Context, a *env.App, target string, now time.Time,
) (*report.PlanReport, *Preview, error) {
	if strings.Contains(target, "://") {
		j := job.Default(target)
		if err := j.Validate(); err != nil {
			return nil, nil, err
		}
		j.Name = job.NameFor(j.Seeds()[0])
		p, err := PreviewRun(ctx, a, j)
		return nil, p, err
	}
	rep, err := look.Plan(a, target, now)
	if (env.FieldOf(err) != env.FieldState) && !errors.Is(err, home.ErrNoSite) {
		return rep, nil, err
	}
	j, err := a.FindJob(target)
	if err != nil {
		return nil, nil, err
	}
	p, err := PreviewRun(ctx, a, j)
	return nil, p, err
}

// previewJob is a job without what a preview has no use for.
func previewJob(j *job.Job) *job.Job {
	p := *j
	p.Window, p.Reuse, p.Alternates, p.Publish = "", job.Reuse{}, nil, job.Default().Publish
	p.Limits.MinFree, p.Limits.MaxTime, p.Limits.Retries = 0, previewTime, 0
	p.Polite.MaxWait = min(j.Polite.MaxWait, previewTime)
	if p.Limits.MaxBody == 0 || p.Limits.MaxBody > previewBody {
		p.Limits.MaxBody = previewBody
	}
	return &p
}

// read takes in what the records say.
func (p *Preview) read(ctx context.Context, j *job.Job, s *store.Site, looks *lookCounter) error {
	rules, err := looks.robots.Rules(ctx, j.Seeds()[0])
	if err != nil {
		return err
	}
	p.Robots = robotsText(j, rules)
	if why := rules.Silent(); (why != "") && j.ObeyRobots {
		p.Entry, p.Problem = "not requested", fmt.Sprintf("the entry point %s: %s", p.URL, why)
		return nil
	}
	if p.Programs, err = report.Programs(s); err != nil {
		return err
	}
	dirs := map[string]*PreviewDir{}
	var sizes, bodies int64
	var grows growth
	if err := s.Records.Resources(func(r *record.Resource) error {
		if r.URL == j.Seeds()[0] {
			p.entry(r)
		}
		switch r.Outcome {
		case site.OutOfScope, site.Program, site.Trapped, site.Gone, site.Redirected:
			return nil
		}
		p.Known++
		if ok, _ := rules.Permits(r.URL); j.ObeyRobots && !ok && (r.URL.Origin() == rules.Origin) {
			p.Disallowed++
			return nil
		}
		grows.see(r)
		if r.Body != record.NoBody {
			bodies++
			sizes += r.Size
			if strings.Contains(r.MIME, "html") {
				p.Pages++
			}
			if result.Cut(r.Cut)&result.SaysNothing != 0 {
				p.Scripted++
			}
		}
		name := previewDir(r.URL)
		if dirs[name] == nil {
			dirs[name] = &PreviewDir{Path: name, Example: r.URL.String()}
		}
		dirs[name].URLs++
		return nil
	}); err != nil {
		return err
	}
	for _, d := range dirs {
		p.Dirs = append(p.Dirs, *d)
	}
	slices.SortFunc(p.Dirs, func(x, y PreviewDir) int {
		return cmp.Or(cmp.Compare(y.URLs, x.URLs), strings.Compare(x.Path, y.Path))
	})
	p.Dirs = p.Dirs[:min(len(p.Dirs), previewDirs)]
	for _, l := range p.Requests {
		if strings.Contains(strings.ToLower(l.URL), "sitemap") && (l.Status == 200) {
			p.Sitemaps = append(p.Sitemaps, l.URL)
		}
	}
	files := int64(p.Known - p.Disallowed)
	if bodies > 0 {
		p.Bytes = sizes / bodies * files
	}
	p.Least, p.Most = files, files
	if !p.Whole {
		p.Most += grows.more(files)
		if listed := looks.size().all(); listed > p.Most {
			p.Least, p.Most = max(p.Least, listed/2), listed
		}
	}
	if files > 0 { // of the least that the mirror has
		p.Bytes = p.Bytes / files * p.Least
	}
	gap := j.Polite.Delay
	if d, ok := rules.CrawlDelay(); ok && j.ObeyRobots {
		gap = max(gap, d)
	}
	p.Seconds = gap.Seconds() * float64(p.Least)
	return nil
}

// Range says how many files the mirror will probably have.
func (p *Preview) Range() string {
	if p.Least == p.Most {
		return fmt.Sprint(p.Least)
	}
	return fmt.Sprintf("%d to %d", p.Least, p.Most)
}

// Gap is the time between two requests of a first run.
func (p *Preview) Gap() time.Duration {
	if p.Least <= 0 {
		return 0
	}
	return time.Duration(p.Seconds / float64(p.Least) * float64(time.Second))
}

// entry says what became of the entry point.
func (p *Preview) entry(r *record.Resource) {
	p.Entry = r.Outcome.String()
	if r.Status > 0 {
		p.Entry += fmt.Sprintf(", status %d", r.Status)
	}
	switch r.Outcome {
	case site.Fetched, site.Unchanged, site.Redirected:
		if r.MIME != "" {
			p.Entry += ", " + r.MIME
		}
	default:
		p.Problem = fmt.Sprintf("the entry point %s: %s", r.URL, cmp.Or(r.Reason, p.Entry))
	}
}

// robotsText says what robots.txt of the entry point's origin says.
func robotsText(j *job.Job, r *fetch.Robots) string {
	if !j.ObeyRobots {
		return "not obeyed: obey_robots is false"
	}
	if why := r.Silent(); why != "" {
		return "nothing may be requested: " + why
	}
	text := "allows the entry point"
	if ok, rule := r.Permits(j.Seeds()[0]); !ok {
		text = "forbids the entry point: " + rule
	}
	if r.Status != 200 {
		text = fmt.Sprintf("no such file (status %d): everything is allowed", r.Status)
	}
	if d, ok := r.CrawlDelay(); ok {
		text += "; Crawl-delay " + count.Span(d)
	}
	return text
}

// previewDir is the host and the first directory of a URL.
func previewDir(u site.URL) string {
	first, _, below := strings.Cut(strings.TrimPrefix(u.Path(), "/"), "/")
	if !below {
		return u.Host() + "/"
	}
	return u.Host() + "/" + first + "/"
}
