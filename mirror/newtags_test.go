// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// leastAudits is how many pages of a small site are requested without validators in a run.
const leastAudits = 2

// hashed is a site whose server takes the hash of each answer for its ETag. Each answer has another token.
type hashed struct {
	w       *mirrortest.Web
	private bool
	texts   []string
	edited  []time.Time // of the texts; the zero time: Last-Modified is not sent
	answers int
	vain    int // conditions by ETags
}

func newHashed(t *testing.T, pages int) *hashed {
	h := &hashed{w: mirrortest.Start(t), texts: make([]string, pages), edited: make([]time.Time, pages)}
	hub(h.w, pages)
	for i := range pages {
		h.texts[i] = fmt.Sprintf("Article %d is about something.", i)
		h.w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, r *http.Request) { h.answer(rw, r, i) },
		})
	}
	return h
}

// answer answers as net/http does: If-None-Match before If-Modified-Since.
func (h *hashed) answer(rw http.ResponseWriter, r *http.Request, i int) {
	h.answers++
	token := sha256.Sum256(fmt.Append(nil, "token", h.answers))
	body := fmt.Sprintf("<!DOCTYPE html><title>%d</title><form><input type=hidden name=csrf value=%x></form>"+
		"<p>%s %s", i, token[:10], h.texts[i], strings.Repeat("and so on ", 20))
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(body))))
	if h.private {
		rw.Header().Set("Cache-Control", "private")
	}
	if r.Header.Get("If-None-Match") != "" {
		h.vain++
	}
	http.ServeContent(rw, r, "", h.edited[i], strings.NewReader(body))
}

// run makes a run, and counts the bodies of pages.
func (h *hashed) run(m *mirrortest.Mirror) (s *mirror.Summary, bodies int) {
	h.vain = 0
	h.w.Requests()
	s = m.Run()
	for _, q := range h.w.Requests() {
		if strings.Contains(q.URL, "page") && q.Status == http.StatusOK {
			bodies++
		}
	}
	return s, bodies
}

// ETags that are new in each answer are sent once at most, an honest Last-Modified is, and an unchanged page
// comes without a body.
func TestETagsThatAreNewInEachAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		private   bool
		dated     bool // it says when the text was edited
		published bool // run 2: until then nothing says that a program made the pages
		bodies    int  // of run 4 and later ones
	}{
		"a hash":                 {published: true, bodies: 6},
		"a hash for one reader":  {private: true, bodies: 6},
		"a hash beside the time": {dated: true, published: true, bodies: leastAudits},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHashed(t, 6)
			h.private = c.private
			for i := range h.edited {
				if c.dated {
					h.edited[i] = time.Now().Add(-1000 * time.Hour)
				}
			}
			m := mirrortest.New(t, h.w, job("[polite]", "connections = 1"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			for run := 2; run < 8; run++ {
				s, bodies := h.run(m)
				if s.Published != (run == 2 && c.published) || (run > 3 && (h.vain > 0 || bodies > c.bodies)) {
					t.Errorf("run %d: published %v, %d conditions by ETags, %d bodies", run, s.Published, h.vain, bodies)
				}
			}
			if got := explain(t, m, home+"/page03.html"); !strings.Contains(got,
				"its ETag is not sent, because each answer of its template has another one") {
				t.Errorf("explain does not say why:\n%s", got)
			}
			h.texts[3], h.edited[3] = "Article 3 is about something else.", time.Now().Add(-500*time.Hour)
			if s := m.Run(); s.Changed != 1 || !strings.Contains(m.Tree()["page03.html"], h.texts[3]) {
				t.Errorf("%d changed: the change of a text is hidden", s.Changed)
			}
			wantVerdict(t, m.Run(), mirror.Complete, false)
		})
	}
}
