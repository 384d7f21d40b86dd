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

// fickle is a site of which each answer has other fields in its head, and each page another token in a form.
type fickle struct {
	w       *mirrortest.Web
	heads   func(h http.Header, path string, n int)
	answers int
	later   time.Duration // of the clock
	text    string        // of page03.html
	agree   bool          // it answers 304 only when all validators match
}

// ficklePages is how many resources the site has.
const ficklePages = 8 + 5

func newFickle(t *testing.T, heads func(h http.Header, path string, n int)) *fickle {
	s := &fickle{w: mirrortest.Start(t), heads: heads}
	s.text = "something"
	var links strings.Builder
	for i := range 8 {
		path := fmt.Sprintf("/page%02d.html", i)
		fmt.Fprintf(&links, "<a href=%s>%d</a>\n", path, i)
		s.set(path, "text/html; charset=utf-8", func() string {
			text := "something"
			if i == 3 {
				text = s.text
			}
			return fmt.Sprintf("<!DOCTYPE html><title>%d</title><form><input type=hidden name=csrf value=%s></form>"+
				"<p>Article %[1]d is about %[3]s. %[4]s", i, tokenOf(s.answers), text, strings.Repeat("and so on ", 20))
		})
	}
	links.WriteString("<a href=/table>t</a><a href=/file>f</a><a href=/feed>news</a><script src=/a.js></script>")
	s.set("/", "text/html; charset=utf-8", func() string {
		return "<!DOCTYPE html><title>Hub</title>" + links.String()
	})
	for path, page := range map[string][2]string{
		"/table": {"text/csv", "a,b\n1,2\n"},
		"/file":  {"application/octet-stream", "binary"},
		"/a.js":  {"text/javascript", "var a = 1;"},
		"/feed": {"application/rss+xml", "<?xml version='1.0'?><rss version='2.0'><channel><title>f</title><item>" +
			"<link>" + home + "/page01.html</link></item></channel></rss>"},
	} {
		s.set(path, page[0], func() string { return page[1] })
	}
	s.w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/css")
		fmt.Fprint(rw, "body { color: red }")
	}})
	return s
}

func tokenOf(n int) string {
	sum := sha256.Sum256(fmt.Append(nil, "token", n))
	return fmt.Sprintf("%x", sum[:10])
}

func (s *fickle) set(path, mime string, body func() string) {
	s.w.Set(home+path, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		s.answers++
		s.answer(rw, r, mime, body())
	}})
}

func (s *fickle) answer(rw http.ResponseWriter, r *http.Request, mime, body string) {
	h := rw.Header()
	h.Set("Content-Type", mime)
	h.Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.heads(h, r.URL.Path, s.answers)
	if !s.agree {
		http.ServeContent(rw, r, "", time.Time{}, strings.NewReader(body))
		return
	}
	tag, date := r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")
	same := (tag == "" || tag == h.Get("ETag")) && (date == "" || date == h.Get("Last-Modified"))
	if same && tag+date != "" {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(rw, body)
}

func (s *fickle) now() time.Time { return time.Now().Add(s.later) }

// ofEither has one answer say the one, and the next one the other.
func ofEither(n int, one, other string) string { return [...]string{one, other}[n%2] }

// What differs in the heads of two answers says nothing by itself: such a site rests from the third run on,
// and an edit changes its page alone.
func TestHeadsThatDiffer(t *testing.T) {
	t.Parallel()
	at := func(s *fickle) string { return s.now().UTC().Format(http.TimeFormat) }
	for name, heads := range map[string]func(s *fickle, h http.Header, path string, n int){
		"links": func(_ *fickle, h http.Header, path string, n int) {
			h.Add("Link", "</style.css?v="+tokenOf(n)+">; rel=preload; as=style")
			h.Add("Link", "</style.css?v="+tokenOf(n)+">; rel=next")
			h.Add("Link", "</?p="+tokenOf(n)+">; rel=shortlink")
			h.Add("Link", "<"+path+"?p="+tokenOf(n)+">; rel=canonical")
		},
		"refresh": func(_ *fickle, h http.Header, path string, n int) {
			h.Set("Refresh", fmt.Sprintf("%d; url=%s?p=%s", 300+n, path, tokenOf(n)))
		},
		"modified now":     func(s *fickle, h http.Header, _ string, _ int) { h.Set("Last-Modified", at(s)) },
		"modified somehow": modifiedSomehow,
		"tags":             func(_ *fickle, h http.Header, _ string, n int) { h.Set("ETag", `"`+tokenOf(n)+`"`) },
		"all else": func(s *fickle, h http.Header, _ string, n int) {
			h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="at-%d-%d.csv"`, s.now().Unix(), n))
			h.Set("Content-Language", ofEither(n, "en", "de"))
			h.Set("Set-Cookie", "s"+tokenOf(n)+"="+tokenOf(n))
			h.Set("X-Robots-Tag", ofEither(n, "index", "noindex")+
				", unavailable_after: "+s.now().Add(time.Duration(500+n)*time.Hour).Format(time.RFC1123))
			h.Set("Cache-Control", fmt.Sprint("max-age=", n%7))
			h.Set("Date", s.now().Add(time.Duration(n%5-2)*time.Hour).UTC().Format(http.TimeFormat))
			for _, field := range [...]string{"Age", "Content-Location", "Content-Security-Policy", "Digest",
				"Expires", "Server", "SourceMap", "Vary", "Via", "X-Request-Id"} {
				h.Set(field, tokenOf(n))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *fickle
			s = newFickle(t, func(h http.Header, path string, n int) { heads(s, h, path, n) })
			m := mirrortest.New(t, s.w, job("[polite]", "connections = 1"))
			m.Now = s.now
			for run := 1; run < 6; run++ {
				var published bool
				n := requests(s.w, func() { published = m.Run().Published })
				s.later += 24 * time.Hour
				if run > 2 && (published || n > 2*ficklePages) {
					t.Errorf("run %d: published %v, %d requests of %d pages", run, published, n, ficklePages)
				}
			}
			s.text = "something else"
			if got := m.Run(); got.Changed != 1 || !strings.Contains(m.Tree()["page03.html"], s.text) {
				t.Errorf("%d changed: the change of a text is hidden", got.Changed)
			}
		})
	}
}

func modifiedSomehow(s *fickle, h http.Header, _ string, n int) {
	h.Set("Last-Modified", s.now().Add(-time.Duration(n)*time.Hour).UTC().Format(http.TimeFormat))
}

// A validator that is another one in each answer does not stand in the way of one that is honest.
func TestHonestValidatorBesideAnother(t *testing.T) {
	t.Parallel()
	for name, heads := range map[string]func(s *fickle, h http.Header, n int){
		"an honest ETag": func(s *fickle, h http.Header, n int) {
			h.Set("ETag", `"v1"`)
			modifiedSomehow(s, h, "", n)
		},
		"an honest Last-Modified": func(_ *fickle, h http.Header, n int) {
			h.Set("Last-Modified", "Mon, 02 Feb 2026 10:00:00 GMT")
			h.Set("ETag", `"`+tokenOf(n)+`"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *fickle
			s = newFickle(t, func(h http.Header, path string, n int) {
				if path != "/" && !strings.Contains(path, "page") {
					heads(s, h, n)
				}
			})
			s.agree = true
			m := mirrortest.New(t, s.w, job())
			m.Now = s.now
			for run := 1; run < 7; run++ {
				m.Run()
				s.later += 24 * time.Hour
				bodies := 0
				for _, q := range s.w.Requests() {
					path := strings.TrimPrefix(q.URL, home)
					file := !strings.Contains(path, "page") && path != "/" && path != "/robots.txt"
					if file && q.Status == http.StatusOK {
						bodies++
					}
				}
				if run > 3 && bodies > leastAudits {
					t.Errorf("run %d: %d bodies of 4 files", run, bodies)
				}
			}
		})
	}
}

// Pages that say the same but for noise are counted apart, by the kind of what differs in them, and a number
// that was edited where each answer may have another one is among them.
func TestNoiseIsCountedApart(t *testing.T) {
	t.Parallel()
	s := newFickle(t, func(http.Header, string, int) {})
	first, now := map[string]int{}, map[string]int{}
	for i := range 8 {
		path := fmt.Sprintf("/page%02d.html", i)
		s.set(path, "text/html; charset=utf-8", func() string {
			if first[path] == 0 {
				first[path] = 1000 + s.answers
			}
			n := 1000 + s.answers
			if now[path] > 0 {
				n = now[path]
			}
			return fmt.Sprintf("<!DOCTYPE html><title>%d</title><form><input type=hidden name=csrf value=%s></form>"+
				"<p>Article %[1]d <i class=n>%[3]d</i> %[4]s", i, tokenOf(s.answers), n, strings.Repeat("and so on ", 20))
		})
	}
	m := mirrortest.New(t, s.w, job("[polite]", "connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for path, n := range first {
		now[path] = n
	}
	now["/page03.html"]++
	got := m.Run()
	wantVerdict(t, got, mirror.Complete, false)
	if fmt.Sprint(got.Noise) != "map[number:1 token:7]" || got.OnlyNoise() != 8 {
		t.Errorf("noise: %v", got.Noise)
	}
	if text := mirrortest.Text(got); !strings.Contains(text,
		"noise: 8 unchanged pages differ only there: 1 in a number, 7 in tokens alone\n") {
		t.Error(text)
	}
	for path, want := range map[string]string{
		"/page03.html": `name=csrf value=#>", "<i class=n>#" (number)`,
		"/page04.html": `(token)`,
	} {
		if got := explain(t, m, home+path); !strings.Contains(got, want) {
			t.Errorf("%s: want %s in\n%s", path, want, got)
		}
	}
}
