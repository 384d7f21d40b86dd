// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

const indexPage = `{{template "head" (head .W.Lang .W.Mirrors)}}<body><main>
<h1>{{.W.Mirrors}}</h1>
{{with .Search}}{{template "search" .}}{{end}}{{if .Sites}}<div class="wide" tabindex="0" role="region" aria-label="{{.W.Mirrors}}"><table>
<thead><tr><th>{{.W.Mirror}}</th><th class="more">{{.W.Origin}}</th><th class="more n">{{.W.Number}}</th><th>{{.W.Retrieved}}</th><th class="more n">{{.W.Files}}</th><th class="n">{{.W.Size}}</th></tr></thead>
<tbody>
{{range .Sites}}<tr><td><a href="{{.Address}}"><bdi>{{if .Title}}{{.Title}}{{else}}{{.Name}}{{end}}</bdi></a>{{if .Title}} <small>{{.Name}}</small>{{end}}{{with .Form}} <small>{{.}}</small>{{end}}{{with .About}}<br><small><bdi>{{.}}</bdi></small>{{end}}</td>
<td class="more">{{with .Origin}}<a href="{{.}}/" rel="noreferrer">{{.}}</a>{{end}}</td><td class="more n">{{.Version}}</td><td class="day">{{$.W.When .Retrieved}}</td>
<td class="more n">{{.Files}}</td><td class="n">{{size .Bytes}}</td></tr>
{{end}}</tbody></table></div>
{{else}}<p>{{.W.None}}</p>
{{end}}</main></body></html>
`

// serveIndex shows the list of mirrors.
func (s *Server) serveIndex(w http.ResponseWriter, r *http.Request) {
	all, err := s.list(r)
	if err != nil {
		s.failed(w, r, "", err)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	s.sendPage(w, r, http.StatusOK, "index", struct {
		W      *words
		Sites  []listed
		Search *finding
	}{s.wordsFor(r), all, s.searched(r)})
}

// sitesPath has the same as JSON.
const sitesPath = wellKnown + "sites"

func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	all, err := s.list(r)
	if err == nil {
		isolatePage(w.Header())
		w.Header().Set("Cache-Control", "no-cache")
		err = writeJSON(w, r, all)
	}
	if err != nil {
		s.failed(w, r, "", err)
	}
}
