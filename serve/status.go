// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"html/template"
	"net/http"
	"time"

	"mirrord/scheduler/status"
)

// statusServer serves the status page.
type statusServer struct {
	all   func() status.All
	now   func() time.Time
	pages *template.Template
}

// NewStatus returns the handler of the status page (/) and of what stands on it as JSON (/status.json). Both
// are for reading only; all is called for each request.
func NewStatus(all func() status.All) (http.Handler, error) {
	t, err := parsePages()
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
