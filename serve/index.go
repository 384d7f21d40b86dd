// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

const indexPage = `{{template "head" "Mirrors"}}<body><main>
<h1>Mirrors</h1>
{{with .Search}}{{template "search" .}}{{end}}{{if .Sites}}<div class="wide" tabindex="0" role="region" aria-label="Table of mirrors"><table>
<thead><tr><th>Mirror</th><th>Origin</th><th>Version</th><th>As of (UTC)</th><th class="n">Files</th><th class="n">Size</th></tr></thead>
<tbody>
{{range .Sites}}<tr><td><a href="{{.Address}}">{{if .Title}}{{.Title}}{{else}}{{.Name}}{{end}}</a>{{if .Title}} <small>{{.Name}}</small>{{end}}{{with .Form}} <small>{{.}}</small>{{end}}{{with .About}}<br><small>{{.}}</small>{{end}}</td>
<td><a href="{{.Origin}}/" rel="noreferrer">{{.Origin}}</a></td><td>{{.Version}}</td><td><time datetime="{{iso .Retrieved}}">{{day .Retrieved}}</time></td>
<td class="n">{{.Files}}</td><td class="n">{{size .Bytes}}</td></tr>
{{end}}</tbody></table></div>
{{else}}<p>Nothing is mirrored yet.</p>
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
	search, policy := s.searched(), pagePolicy
	if search != nil {
		policy = formPolicy
	}
	s.sendPage(w, r, http.StatusOK, "index", struct {
		Sites  []listed
		Search *finding
	}{all, search}, policy)
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
