// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
	"mirrord/testing/oracle"
)

// pairsSite is a folder of files that a server serves, and what a job requests of it.
type pairsSite struct {
	dir   string
	url   string
	mu    sync.Mutex
	asked map[string]int
}

// newPairsSite puts a counter before a server that start starts for the folder dir/www.
func newPairsSite(t *testing.T, start func(t *testing.T, dir string) string) *pairsSite {
	t.Helper()
	p := &pairsSite{dir: t.TempDir(), asked: map[string]int{}}
	links := ""
	for i := range 6 {
		dir := fmt.Sprintf("d%d", i)
		links += fmt.Sprintf(`<a href="%s/">a</a> <a href="%s/index.html">b</a> `, dir, dir)
		p.write(t, dir+"/index.html", "<title>"+dir+`</title><a href="a.html">a</a> `+words(i))
		p.write(t, dir+"/a.html", words(i+10))
	}
	p.write(t, "index.html", "<title>home</title>"+links)
	to, err := url.Parse(start(t, p.dir))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[r.URL.RequestURI()]++
		p.mu.Unlock()
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func words(n int) string { return mirrortest.Words(uint32(n+100), 40) }

func (p *pairsSite) write(t *testing.T, path, text string) {
	t.Helper()
	file := filepath.Join(p.dir, "www", path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Duration(len(text)) * time.Hour) // another validator within a second
	if err := os.Chtimes(file, past, past); err != nil {
		t.Fatal(err)
	}
}

// take returns what was requested since it was last called.
func (p *pairsSite) take() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = map[string]int{}
	return out
}

// degrees returns what evolution says of the directories: the largest degree of change of each.
func degrees(t *testing.T, m *mirrortest.Mirror) map[string]report.DirEvolution {
	t.Helper()
	out := map[string]report.DirEvolution{}
	m.Site(func(s *store.Site) {
		v, err := report.Load(m.Job, s, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		e, err := v.Evolution(0, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range e.Dirs {
			out[d.Path] = d
		}
	})
	return out
}

// explains wants a text in what explain says of a URL.
func explains(t *testing.T, m *mirrortest.Mirror, u, want string) {
	t.Helper()
	m.Site(func(s *store.Site) {
		v, err := report.Open(m.Job, s, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.Explain(t.Context(), nil, u)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(x); !strings.Contains(got, want) {
			t.Errorf("explain %s: %s", u, got)
		}
	})
}

// servers are those that answer a directory and its index alike.
var servers = map[string]func(t *testing.T, dir string) string{
	"net/http": func(t *testing.T, dir string) string {
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			name := filepath.Join(dir, "www", filepath.FromSlash(r.URL.Path))
			if strings.HasSuffix(r.URL.Path, "/") {
				name += "/index.html"
			}
			f, err := os.Open(name)
			if err != nil {
				http.NotFound(rw, r)
				return
			}
			defer f.Close()
			st, err := f.Stat()
			if err != nil {
				t.Error(err)
			}
			http.ServeContent(rw, r, name, st.ModTime(), f)
		}))
		t.Cleanup(s.Close)
		return s.URL
	},
	"nginx":  startNginx,
	"python": startPython,
}

// startPython serves dir/www with the server of Python's library.
func startPython(t *testing.T, dir string) string {
	bin := oracle.Program(t, "python3", "python3")
	www := filepath.Join(dir, "www")
	cmd := exec.Command(bin, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", www)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`port (\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("python: %q", line)
	}
	return "http://127.0.0.1:" + m[1]
}

// A directory and its index are one file. Once that is known they are one request, and one node of the tree.
func TestDirectoryAndIndexAreOne(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			p := newPairsSite(t, start)
			m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", p.url+"/"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			tree := m.Tree()
			first := p.take()
			for i := range 8 {
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, false)
				asked := p.take()
				indexes := 0
				for i := range 6 {
					indexes += asked[fmt.Sprintf("/d%d/index.html", i)]
				}
				if i == 0 && indexes != 6 || i > 0 && indexes > 4 {
					t.Errorf("run %d: %d indexes were requested beside their directories", i+2, indexes)
				}
				if s.Changed+s.Added+s.Removed != 0 {
					t.Errorf("run %d:\n%s", i+2, mirrortest.Text(s))
				}
			}
			if first["/d0/index.html"] == 0 || first["/d0/"] == 0 {
				t.Fatalf("the first run requested %v", first)
			}
			for path, d := range degrees(t, m) {
				if d.Edits != 0 {
					t.Errorf("%s: %+v, and nothing was edited", path, d)
				}
			}
			p.write(t, "d3/index.html", `<title>new</title><a href="a.html">a</a> new text`)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Changed != 1 || s.Added+s.Removed != 0 {
				t.Errorf("one edit:\n%s", mirrortest.Text(s))
			}
			if d := degrees(t, m)["/d3"]; d.Files != 2 || d.Edits != 1 || d.MaxDoC != 1./3 {
				t.Errorf("/d3 after one edit: %+v", d)
			}
			now := m.Tree()
			if len(now) != len(tree) || !strings.Contains(now["d3/index.html"], "new text") {
				t.Errorf("%d files of %d", len(now), len(tree))
			}
		})
	}
}

// A pair whose pages differ later is two pages again, from the audit that finds it on and for good. That is
// one change: a page that came.
func TestPairEnds(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("home", `<a href="d/">a</a> <a href="d/index.html">b</a> <a href="d/x">x</a>`))
	w.Set(home+"/d/", mirrortest.HTML("d", words(1)))
	w.Set(home+"/d/index.html", mirrortest.HTML("d", words(1)))
	w.Set(home+"/d/x", mirrortest.HTML("x", words(2)))
	m := mirrortest.New(t, w, job())
	for range 4 {
		m.Run()
	}
	explains(t, m, home+"/d/index.html", "which is requested for both")
	w.Set(home+"/d/index.html", mirrortest.HTML("other", words(3)))
	runs, files := 0, len(m.Tree())
	for ; runs < 9 && len(m.Tree()) == files; runs++ {
		m.Run()
	}
	tree := m.Tree()
	if len(tree) != files+1 || !strings.Contains(fmt.Sprint(tree), words(3)) {
		t.Fatalf("after %d runs: %v", runs, m.Paths())
	}
	explains(t, m, home+"/d/index.html", "something else than "+home+"/d/")
	if d := degrees(t, m)["/d"]; d.Files != 3 || d.Edits != 1 {
		t.Errorf("/d: %+v", d)
	}
	w.Set(home+"/d/index.html", mirrortest.HTML("d", words(1)))
	for range 6 {
		before := w.Asked()[home+"/d/index.html"]
		if m.Run(); w.Asked()[home+"/d/index.html"] == before {
			t.Error("a pair that ended is one again")
		}
	}
}

// The home page of a wiki has two addresses. Its other pages have parameters that matter.
func TestParameterOfOnePageIsOne(t *testing.T) {
	w := mirrortest.Start(t)
	links := `<link rel="canonical" href="/"><a href="/?id=start">start</a>`
	for i := range 5 {
		links += fmt.Sprintf(`<a href="/?id=p%d">p</a>`, i)
		w.Set(fmt.Sprintf("%s/?id=p%d", home, i), mirrortest.HTML("p", words(i)))
	}
	start := mirrortest.HTML("start", links+words(9))
	w.Set(home+"/", start)
	w.Set(home+"/?id=start", start)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()
	for range 5 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	if n := w.Asked(); n[home+"/?id=p3"] != 6 || n[home+"/?id=start"] > 4 {
		t.Errorf("requests: %v", n)
	}
	if !maps.Equal(before, m.Tree()) {
		t.Errorf("files %v", m.Paths())
	}
	if d := degrees(t, m)["/"]; d.Files != 6 || d.Edits != 0 {
		t.Errorf("/: %+v", d)
	}
}

// A mirror of before, whose history has two nodes, learns its pairs. That is no change of the site.
func TestPairsOfOlderMirrors(t *testing.T) {
	p := newPairsSite(t, servers["net/http"])
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nscope.learn_sessions = false\n", p.url+"/"))
	m.Run()
	p.write(t, "d1/index.html", `<title>new</title><a href="a.html">a</a> once`)
	m.Run()
	was := degrees(t, m)
	if d := was["/d1"]; d.Files != 3 || d.Edits != 2 || d.MaxDoC != 1./2 {
		t.Errorf("before: %+v", d)
	}
	files := m.Tree()
	m.Set("scope.learn_sessions", "true")
	for range 4 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	for path, d := range degrees(t, m) {
		if d.Edits != was[path].Edits || path != "/" && d.Files != 2 {
			t.Errorf("%s was %+v and is %+v", path, was[path], d)
		}
	}
	p.write(t, "d2/index.html", `<title>new</title><a href="a.html">a</a> twice`)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if d := degrees(t, m)["/d2"]; d.Edits != 1 || d.MaxDoC != 1./3 {
		t.Errorf("/d2: %+v", d)
	}
	if len(m.Tree()) != len(files) {
		t.Errorf("%d files of %d", len(m.Tree()), len(files))
	}
}
