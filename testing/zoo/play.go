// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// Exhibit is one imperfect site, its job, and what must be true after some of its runs.
type Exhibit struct {
	Name string
	From string // the issue of another project that has this site, or ""
	Site func() *Site
	Job  string // keys of the job file over the usual ones; url is Home
	Want []Want

	Each   time.Duration // from the beginning of one run to that of the next; default a day
	Before func(run int, m *mirrortest.Mirror)
	Accept int // after this run its held-back result is accepted

	// Part is what the test of one broken part leaves alone, because the site's own trouble lies there; in the
	// form of Want.Pages.
	Part string
}

// Want is what must be true after one run.
type Want struct {
	Run     int
	Verdict string // one or several with "|" between
	// Pages lists the published pages: "all" pages as fresh as the run, or "none", and then exceptions.
	// "/a*@2" are as they were in run 2, "/a*@+" are there, of any run, "/a*@-" are not published, and
	// "/a*@?" may be as they like.
	Pages    string
	Extra    int           // files may be published that are no page of the site
	Requests int           // at most; 0: not more than the site has pages, and 8
	Within   time.Duration // the run ended; 0: an hour
	Says     []string      // in the summary for people
	Silent   []string      // not in it
	// Down is an origin that must be found to be down: at most five requests or attempts to connect, of which
	// the last comes within ten seconds of the first, or within Patience.
	Down     string
	Patience time.Duration
	Left     string // an origin that must not be asked at all

	Version int // that is published; 0: any
}

// Result is what one run did.
type Result struct {
	Run      int
	Verdict  string
	Version  int
	Text     string // the summary for people
	Took     time.Duration
	Contacts []Contact
	Pages    map[string]string // published, by URL: the edition, or "" for a page that never changes
}

// usual are the keys of every job of the zoo that mirrortest would set otherwise: the defaults of politeness,
// because time costs nothing.
const usual = `
policy = "full"
limits.retries = 3
limits.min_free = 0
polite.connections = 2
polite.delay = "250ms"
polite.factor = 1.0
polite.max_delay = "1m"
publish.keep = "last 3"
tls.ca_file = "` + Authority + `"
`

// Play makes some runs of a case in a bubble and returns what they did. The invariants of every mirror are
// checked after each of them.
func (c *Exhibit) Play(t *testing.T, site *Site, runs int) (results []Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n, end := Serve(site)
		defer end()
		m := mirrortest.New(t, nil, jobText(c.Job))
		m.Confirm = 5 * time.Minute // the default of a run
		m.World.Network = n
		m.World.ReadFile = func(string) ([]byte, error) { return authority().pem, nil }
		m.Hosts = new(fetch.Hosts)
		each := c.Each
		if each == 0 {
			each = 24 * time.Hour
		}
		for run := 1; run <= runs; run++ {
			if c.Before != nil {
				c.Before(run, m)
			}
			n.Begin(run)
			start := time.Now()
			sum, err := m.RunWith(context.Background(), func(*mirror.Options) {})
			if err != nil {
				t.Fatalf("run %d: %v", run, err)
			}
			took := time.Since(start)
			r := Result{
				Run:      run,
				Verdict:  sum.Verdict.String(),
				Version:  sum.Version,
				Text:     mirrortest.Text(sum),
				Took:     took,
				Contacts: n.Log(),
				Pages:    map[string]string{},
			}
			if m.Published() {
				r.Pages = editions(m)
			}
			results = append(results, r)
			if run == c.Accept {
				m.Accept()
			}
			time.Sleep(max(each-took, time.Minute))
		}
	})
	return results
}

// jobText makes a job file: a key of the case takes the place of the same key of the usual ones.
func jobText(keys string) string {
	var b strings.Builder
	if !strings.Contains(keys, "url =") {
		fmt.Fprintf(&b, "url = %q\n", Home+"/")
	}
	b.WriteString(keys + "\n")
	for line := range strings.Lines(usual) {
		if key, _, ok := strings.Cut(line, " = "); ok && !strings.Contains(keys, key+" =") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// editions are the published files by URL.
func editions(m *mirrortest.Mirror) map[string]string {
	mark := regexp.MustCompile(`edition (\d+)`)
	out := map[string]string{}
	for u, body := range m.ByURL() {
		out[u] = ""
		if found := mark.FindStringSubmatch(body); found != nil {
			out[u] = found[1]
		}
	}
	return out
}

// Requests is how many requests a run made, over all origins but those that match a pattern.
func (r *Result) Requests(but ...string) (n int) {
	for _, e := range r.Contacts {
		if e.URL != "" && !(Visit{URL: e.URL}).At(but...) {
			n++
		}
	}
	return n
}

// Check returns the differences from a table row.
func (w *Want) Check(site *Site, r *Result) (problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("run %d: ", r.Run)+fmt.Sprintf(format, args...))
	}
	if !slices.Contains(strings.Split(w.Verdict, "|"), r.Verdict) {
		say("verdict %s, want %s", r.Verdict, w.Verdict)
	}
	for _, p := range w.pages(site, r) {
		say("%s", p)
	}
	most := w.Requests
	if most == 0 {
		most = len(site.Pages) + 8
	}
	if got := r.Requests(); got > most {
		say("%d requests, want at most %d", got, most)
	}
	within := w.Within
	if within == 0 {
		within = time.Hour
	}
	if r.Took > within {
		say("took %s, want at most %s", r.Took.Round(time.Second), within)
	}
	for _, s := range w.Says {
		if !strings.Contains(r.Text, s) {
			say("the summary lacks %q", s)
		}
	}
	for _, s := range w.Silent {
		if strings.Contains(r.Text, s) {
			say("the summary says %q", s)
		}
	}
	if w.Version != 0 && w.Version != r.Version {
		say("version %d, want %d", r.Version, w.Version)
	}
	return append(problems, w.origin(r)...)
}

// origin checks how fast an origin was found to be down, or that one was left alone.
func (w *Want) origin(r *Result) (problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("run %d: ", r.Run)+fmt.Sprintf(format, args...))
	}
	var at []time.Duration
	for _, e := range r.Contacts {
		if e.Origin == w.Down {
			at = append(at, e.At)
		}
		if w.Left != "" && e.Origin == w.Left {
			say("%s was asked", w.Left)
			break
		}
	}
	if len(at) > 5 {
		say("%s: %d attempts, want at most 5", w.Down, len(at))
	}
	patience := w.Patience
	if patience == 0 {
		patience = 10 * time.Second
	}
	if len(at) > 0 && at[len(at)-1]-at[0] > patience {
		say("%s: attempts for %s, want at most %s", w.Down, (at[len(at)-1] - at[0]).Round(time.Second), patience)
	}
	return problems
}

// expected is the state that a URL must be published in: an edition, "-" or "?".
func (w *Want) expected(u string, r *Result) string {
	state := fmt.Sprint(r.Run)
	fields := strings.Fields(w.Pages)
	if len(fields) > 0 && fields[0] == "none" {
		state = "-"
	}
	for _, f := range fields[min(1, len(fields)):] {
		at := strings.LastIndexByte(f, '@')
		if match(absolute(f[:at]), u) {
			state = f[at+1:]
		}
	}
	return state
}

// pages compares the published pages.
func (w *Want) pages(site *Site, r *Result) (problems []string) {
	wrong := map[string][]string{}
	known := map[string]bool{}
	for u, body := range site.Pages {
		known[u] = true
		if strings.HasSuffix(u, "/robots.txt") || strings.HasSuffix(u, "/sitemap.xml") {
			continue
		}
		want := w.expected(u, r)
		got, published := r.Pages[u]
		switch {
		case want == "?":
		case want == "-" && published:
			wrong["published, want not"] = append(wrong["published, want not"], u)
		case want != "-" && !published:
			wrong["not published"] = append(wrong["not published"], u)
		case want != "-" && want != "+" && strings.Contains(body, "edition {n}") && got != want:
			k := fmt.Sprintf("edition %s, want %s", got, want)
			wrong[k] = append(wrong[k], u)
		}
	}
	extra := 0
	for u := range r.Pages {
		if !known[u] {
			extra++
		}
	}
	if extra > w.Extra {
		problems = append(problems,
			fmt.Sprintf("%d files are no page of the site, want at most %d", extra, w.Extra))
	}
	for _, k := range slices.Sorted(maps.Keys(wrong)) {
		slices.Sort(wrong[k])
		problems = append(problems, fmt.Sprintf("%s: %d, such as %s", k, len(wrong[k]), wrong[k][0]))
	}
	return problems
}
