// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror/urls"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
	"mirrord/testing/replicatest"
)

// corpusHost serves the pages of one host of a data set, and a list of them. It counts the
// requests for pages.
type corpusHost struct {
	name  string
	pages map[string][]byte
	list  string
	asked atomic.Int64
}

func (h *corpusHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := h.pages[r.URL.RequestURI()]
	switch {
	case r.URL.Path == "/all-of-"+h.name+".html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, h.list)
	case !ok:
		http.NotFound(w, r)
	default:
		h.asked.Add(1)
		w.Header().Set("Content-Type", "text/html")
		if _, err := w.Write(body); err != nil {
			return
		}
	}
}

// skipHost is the rule not to crawl a host.
const skipHost = "skip"

// Cho's experiment end to end over HTTP (section 5.1): the hosts of a data set are mirrored one after the
// other, each by a job of its own, and then once more into an empty state by jobs that reuse what the first
// crawl found, and by jobs that leave the copies out. MIRRORD_REPLICA_SET says which set, mini unless told.
func TestReuseOnCorpus(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("MIRRORD_LONG=1 crawls a data set twice")
	}
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	all := corpusHosts(t, c)
	var urls []string
	for i, h := range all {
		urls = append(urls, mirrortest.Serve(t, fmt.Sprintf("127.0.1.%d", i+1), h).URL)
	}
	crawl := func(state string, rules func(i int) string) (pages int64) {
		jobs := t.TempDir()
		for i, h := range all {
			if rules(i) == skipHost {
				continue
			}
			const text = "url = %q\npolite.delay = \"0s\"\npolite.factor = 0\nlimits.retries = 0\n" +
				"polite.timeout = \"1m\"\n%s"
			file := filepath.Join(jobs, fmt.Sprintf("h%02d.toml", i))
			data := fmt.Appendf(nil, text, urls[i]+"/all-of-"+h.name+".html", rules(i))
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			before := h.asked.Load()
			code, out, errs := runArgs(t, nil, "run-now", fmt.Sprintf("h%02d", i), "--jobs", jobs, "--state", state)
			if code != cli.ExitOK && code != cli.ExitGaps {
				t.Fatalf("%s: exit code %d: %s%s", h.name, code, out, errs)
			}
			pages += h.asked.Load() - before
		}
		return pages
	}
	plain := t.TempDir()
	fetched := crawl(plain, func(int) string { return "" })
	less := func(how string, pages int64, least float64) {
		saved := 1 - float64(pages)/float64(fetched)
		t.Logf("%d hosts, %d pages; %s: %d, %.1f %% less", len(all), fetched, how, pages, 100*saved)
		if saved < least {
			t.Errorf("%s: %.1f %% saved", how, 100*saved)
		}
	}

	again := t.TempDir()
	reused := crawl(again, func(i int) string { return foundReuse(t, plain, fmt.Sprintf("h%02d", i)) })
	lost, more := 0, 0
	for i, h := range all {
		name := fmt.Sprintf("h%02d", i)
		was, is := mirroredFiles(t, plain, name), mirroredFiles(t, again, name)
		more += len(is) - len(was)
		for url, sum := range was {
			if is[url] != sum {
				lost++
				t.Errorf("%s: %s is lost, or another file", h.name, url)
			}
		}
	}
	less("with reuse", reused, 0.15)
	t.Logf("with reuse: %d pages lost, %d that only the other mirror has", lost, more)

	skip := copiesToSkip(t, plain, urls)
	skipped := crawl(t.TempDir(), func(i int) string {
		switch {
		case len(skip[i]) == 0:
			return ""
		case slices.Contains(skip[i], `"/**"`):
			return skipHost
		}
		return "scope.exclude = [" + strings.Join(skip[i], ", ") + "]\n"
	})
	less("without the copies that were found", skipped, 0.22)
	of, gone := lostDocuments(c, all, skip)
	t.Logf("without the copies: of %d documents no host has %d (%.2f %%)", of, gone,
		100*float64(gone)/float64(of))
	if 20*gone > of {
		t.Errorf("%d of %d documents are lost", gone, of)
	}
}

// copiesToSkip are, by host, patterns of the copies that the mirrors of a state have.
// The fullest copy of the collection has 85 % of the pages of each, at least.
func copiesToSkip(t *testing.T, state string, urls []string) [][]string {
	t.Helper()
	code, out, errs := runArgs(t, nil, "replicas", "--state", state, "--json", "--limit", "0")
	var found replicas.Replicas
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	skip := make([][]string, len(urls))
	for _, c := range found.Clusters {
		for n, cp := range c.Copies {
			host, dir, _ := strings.Cut(cp.At, "/")
			i := slices.Index(urls, "http://"+host)
			if i < 0 {
				t.Fatalf("%s is on no host", cp.At)
			}
			pattern := fmt.Sprintf("%q", "/"+dir+"**")
			isSkipped := slices.ContainsFunc(skip[i], func(p string) bool { return below(pattern, p) })
			if n == 0 && isSkipped {
				break // it is not there to stand for the others
			}
			if n > 0 && !isSkipped && 100*cp.Shared >= 85*cp.Pages {
				skip[i] = append(skip[i], pattern)
			}
		}
	}
	return skip
}

func below(pattern, above string) bool {
	return strings.HasPrefix(pattern, strings.TrimSuffix(above, "**\""))
}

// lostDocuments counts the documents of a data set, and those of which each copy is skipped.
func lostDocuments(c *replicatest.Corpus, all []*corpusHost, skip [][]string) (of, lost int) {
	isLeft := map[[3]string]bool{}
	for i := range c.Pages {
		p := &c.Pages[i]
		n := slices.IndexFunc(all, func(h *corpusHost) bool { return h.name == p.Host })
		isSkipped := slices.ContainsFunc(skip[n], func(pattern string) bool {
			return strings.HasPrefix(p.Path, strings.Trim(pattern, "\"*"))
		})
		key := [3]string{p.Family, p.Lang, p.Key}
		isLeft[key] = isLeft[key] || !isSkipped
	}
	for _, left := range isLeft {
		if !left {
			lost++
		}
	}
	return len(isLeft), lost
}

func corpusHosts(t *testing.T, c *replicatest.Corpus) []*corpusHost {
	t.Helper()
	by := map[string]*corpusHost{}
	var all []*corpusHost
	for i := range c.Pages {
		p := &c.Pages[i]
		h := by[p.Host]
		if h == nil {
			h = &corpusHost{name: p.Host, pages: map[string][]byte{}}
			by[p.Host], all = h, append(all, h)
		}
		h.pages[p.Path] = c.Blobs[p.Blob]
		h.list += fmt.Sprintf("<a href=\"%s\">page</a>\n", strings.ReplaceAll(p.Path, "&", "&amp;"))
	}
	// the biggest first, as a crawl that begins with the best known does
	slices.SortStableFunc(all, func(a, b *corpusHost) int { return len(b.pages) - len(a.pages) })
	return all
}

// foundReuse is the table [reuse] of what a job was found to share with another one.
func foundReuse(t *testing.T, state, name string) string {
	t.Helper()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite(name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found, err := urls.LastFoundReuse(s.Notes)
	if err != nil {
		t.Fatal(err)
	}
	if found.Job == "" {
		return ""
	}
	t.Logf("%s: %s", name, found.Says(false))
	return fmt.Sprintf("[reuse]\njob = %q\nfrom = %q\nat = %q\n", found.Job, found.From, found.At)
}

// mirroredFiles are the URLs of a mirror, with the digests of their bodies.
func mirroredFiles(t *testing.T, state, name string) map[string][32]byte {
	t.Helper()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite(name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := map[string][32]byte{}
	err = s.Records.Resources(func(rec *record.Resource) error {
		if rec.InSet {
			out[strings.Clone(rec.URL.String())] = rec.Digest
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
