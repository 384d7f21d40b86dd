// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"mirrord/internal/count"
	"mirrord/scheduler/status"
)

// statusPage shows all jobs at one look. It has no script, and nothing on it changes anything.
const statusPage = `{{template "head" (head "en" "mirrord")}}<body><main class="status">
<h1>mirrord</h1>
<p>{{n (len .All.Jobs) "job"}}, {{n .All.Daemon.Running "run"}} under way ({{len .All.Daemon.Turns}} of at most {{.All.Daemon.MaxRuns}} work){{range .Counts}}, {{.N}} {{shown .What}}{{end}}; {{size .All.Daemon.Free}} free.
{{if .All.Daemon.Ending}}<strong>The daemon is ending.</strong>{{end}}
<small>As of <time datetime="{{iso .Now}}">{{day .Now}}</time> UTC; version {{.All.Daemon.Version}}, since <time datetime="{{iso .All.Daemon.Started}}">{{day .All.Daemon.Started}}</time>.</small></p>
{{if .All.Daemon.Turns}}<p><small>Working: {{range $i, $t := .All.Daemon.Turns}}{{if $i}}, {{end}}{{.Job}}{{if .Short}} (for a moment){{end}}{{end}}.{{if .All.Daemon.Parked}} Without a turn: {{n .All.Daemon.Parked "run"}}, of {{.All.Daemon.MaxParked}}.{{end}}
{{range .All.Daemon.Hosts}}<br>{{.Host}}: {{range $i, $j := .Jobs}}{{if $i}}, {{end}}{{.}}{{end}}{{with .Waiting}}; {{range $i, $j := .}}{{if $i}}, {{end}}{{.}}{{end}} next{{end}}{{end}}</small></p>
{{end}}{{with .All.Daemon.Problem}}<p class="bad">The jobs directory cannot be read: {{.}}. Jobs continue unchanged.</p>
{{end}}{{if .All.Jobs}}<div class="wide" tabindex="0" role="region" aria-label="Table of jobs"><table>
<thead><tr><th>Job</th><th>State</th><th class="n">Version</th><th class="n">Files</th><th class="n">Size</th><th>Last checked</th><th>Last run (UTC)</th><th>Next run</th><th>Schedule</th></tr></thead>
<tbody>
{{range .All.Jobs}}<tr><td>{{.Name}}</td>
<td><span class="s {{.Health}}">{{.Say}}</span>{{with .Progress}}<br><small>{{.Phase}}: {{if eq .Phase "retrieving"}}{{.Done}} done, {{.Queued}} queued{{else}}{{.Relocated}} of {{.Total}}{{end}}</small>{{end}}
{{- range .Reasons}}<br><small>{{.}}</small>{{end}}{{range .Problems}}<br><small>{{.}}</small>{{end}}{{with .Fix}}<br><small>Fix: {{.}}</small>{{end}}
{{- with .Last}}{{with .ReuseFound}}<br><small>Reuse: {{.}}</small>{{end}}{{with .Waiting}}<pre>{{range .}}{{.}}
{{end}}</pre>{{end}}{{end}}</td>
<td class="n">{{if .Version}}{{.Version}}{{end}}</td><td class="n">{{if .Version}}{{.Files}}{{end}}</td><td class="n">{{if .Version}}{{size .Bytes}}{{end}}</td>
<td>{{with .Verified}}<time datetime="{{iso .}}">{{age . $.Now}} ago</time>{{end}}</td>
<td>{{with .LastRun}}<time datetime="{{iso .}}">{{day .}}</time>{{end}} {{shown .Verdict}}{{with .Last}}{{if .Requests}}<br><small>{{n .Requests "request"}}{{with .Skipped}}, {{.}} skipped{{end}}</small>{{end}}{{end}}</td>
<td>{{if .Next}}<time datetime="{{iso .Next}}">{{.NextText}}</time>{{end}}{{with .Why}} <small>{{.}}</small>{{end}}</td><td>{{.Schedule}}{{with .Timezone}} <small>{{.}}</small>{{end}}</td></tr>
{{end}}</tbody></table></div>
{{else}}<p>There are no jobs yet.</p>
{{end}}</main></body></html>
`

// statusServer serves the status page.
type statusServer struct {
	all   func() status.All
	now   func() time.Time
	pages *template.Template
}

// NewStatus returns the handler of the status page (/) and of what stands on it as JSON (/status.json). Both
// are for reading only; all is called for each request.
func NewStatus(all func() status.All) (http.Handler, error) {
	t, err := pagesOf(map[string]string{"head": headPage, "status": statusPage}, template.FuncMap{
		"age":   func(t *time.Time, now time.Time) string { return count.Ago(now.Sub(*t)) },
		"shown": status.Shown,
		"n":     count.OfAny,
	})
	return &statusServer{all: all, now: time.Now, pages: t}, err
}

func (s *statusServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	isolatePage(h)
	h.Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this page is for reading only", http.StatusMethodNotAllowed)
	case r.URL.Path == "/status.json":
		if err := writeJSON(w, r, s.all()); err != nil {
			http.Error(w, "the status cannot be shown", http.StatusInternalServerError)
		}
	case r.URL.Path == "/":
		s.page(w, r)
	default:
		http.NotFound(w, r)
	}
}

// tally is how many jobs are in a state that needs attention.
type tally struct {
	N    int
	What string
}

func (s *statusServer) page(w http.ResponseWriter, r *http.Request) {
	all := s.all()
	var counts []tally
	for _, h := range status.Healths()[1:] {
		c := tally{What: string(h)}
		for i := range all.Jobs {
			if all.Jobs[i].Health == h {
				c.N++
			}
		}
		if c.N > 0 {
			counts = append(counts, c)
		}
	}
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, "status", struct {
		All    status.All
		Counts []tally
		Now    time.Time
	}{all, counts, s.now()}); err != nil {
		http.Error(w, "the status cannot be shown", http.StatusInternalServerError)
		return
	}
	sendText(w, r, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}
