// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/apptest"
	"mirrord/testing/mirrortest"
)

// shared is two sites, of which a shows what b has, with a job for each in one space.
type shared struct {
	t     *testing.T
	web   *mirrortest.Web
	app   *env.App
	clock time.Time
}

const sharedA, sharedB = "http://a.example/", "http://b.example/"

// newShared makes sites of which a shows files of b; of these b names its own.
func newShared(t *testing.T, files map[string]mirrortest.Page) *shared {
	w := &shared{
		t:     t,
		web:   mirrortest.Start(t),
		app:   apptest.TestApp(t.TempDir()),
		clock: time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC),
	}
	w.app.Jobs = t.TempDir()
	w.app.Now = func() time.Time { return w.clock }
	a, b := "", ""
	for name, page := range files {
		w.web.Set(sharedB+name, page)
		a += fmt.Sprintf(`<img src="%s%s">`, sharedB, name)
		b += fmt.Sprintf(`<img src="%s">`, name)
	}
	w.web.Set(sharedA, mirrortest.HTML("A", a))
	w.web.Set(sharedB, mirrortest.HTML("B", b))
	w.job("a", sharedA, "")
	w.job("b", sharedB, "")
	return w
}

func (w *shared) job(name, url, more string) {
	apptest.Put(w.t, w.app.Jobs, name+".toml",
		fmt.Sprintf("url = %q\nspace = \"s\"\npolicy = \"full\"\nproxy = %q\n"+
			"requisites = \"any\"\nlimits.min_free = 0\npolite.delay = \"0s\"\npolite.factor = 0\n%s",
			url, w.web.URL, more))
}

// run makes a run and returns what was requested of b besides its entry point and robots.txt.
func (w *shared) run(name string) (*mirror.Summary, []string) {
	w.t.Helper()
	w.clock = w.clock.Add(time.Hour)
	w.web.Requests()
	sum, err := runs.RunNow(w.t.Context(), w.app, runs.RunHere{Job: name})
	if err != nil || sum.Verdict != mirror.Complete {
		w.t.Fatalf("%+v, %v", sum, err)
	}
	var asked []string
	for _, r := range w.web.Requests() {
		rest, ok := strings.CutPrefix(r.URL, sharedB)
		if ok && strings.HasSuffix(rest, ".png") {
			asked = append(asked, rest)
		}
	}
	slices.Sort(asked)
	return sum, asked
}

// later makes a run when what others got is too old.
func (w *shared) later(name string) {
	w.t.Helper()
	w.clock = w.clock.Add(48 * time.Hour)
	w.run(name)
}

func (w *shared) tree(name string) string {
	return filepath.Join(apptest.StateOf(w.t, w.app), "sites", name, "current")
}

// wants checks what a run of a requested of b.
func (w *shared) wants(asked ...string) *mirror.Summary {
	w.t.Helper()
	sum, got := w.run("a")
	if !slices.Equal(got, asked) {
		w.t.Errorf("asked for %q, want %q", got, asked)
	}
	return sum
}

func picture(body string, header ...string) mirrortest.Page {
	p := mirrortest.Page{Body: body, Header: map[string]string{}}
	for i := 0; i < len(header); i += 2 {
		p.Header[header[i]] = header[i+1]
	}
	return p
}

// What b got is taken from it: the file, the head of its answer, and what was learned of it.
func TestFetchOnce(t *testing.T) {
	w := newShared(t, map[string]mirrortest.Page{
		"small.png": picture("small"),
		"large.png": picture(strings.Repeat("large", 100_000)),
	})
	w.run("b")
	sum := w.wants()
	if sum.FromSpace["b"] != 2 || sum.Spared["space"] != 2 || sum.Fetched != 3 || sum.Skipped != 0 {
		t.Errorf("%+v", sum)
	}
	for _, name := range []string{"small.png", "large.png"} {
		mine, err := os.ReadFile(filepath.Join(w.tree("a"), w.record("a", sharedB+name).Path))
		if err != nil {
			t.Fatal(err)
		}
		its, err := os.ReadFile(filepath.Join(w.tree("b"), name))
		if err != nil || string(mine) != string(its) {
			t.Errorf("%s: %d bytes, %v", name, len(mine), err)
		}
	}
	x, err := look.Explain(t.Context(), w.app, "a", look.ExplainRequest{URL: sharedB + "small.png", Head: true})
	if err != nil || x.Source != "" || x.Head == nil || !strings.Contains(x.Last, "the site sent it to job b") {
		t.Errorf("%+v, %v", x, err)
	}

	// Nothing newer: a asks by itself, with the validators of the answer that b got.
	sum = w.wants("large.png", "small.png")
	if sum.FromSpace != nil || sum.Unchanged != 3 {
		t.Errorf("%+v", sum)
	}
	w.later("b")
	if sum = w.wants(); sum.FromSpace["b"] != 2 || sum.Unchanged != 3 || sum.Published {
		t.Errorf("%+v", sum)
	}

	// b finds that one has changed; a finds the same.
	w.web.Set(sharedB+"small.png", picture("changed"))
	w.later("b")
	if sum = w.wants(); sum.FromSpace["b"] != 2 || sum.Changed != 1 || !sum.Published {
		t.Errorf("%+v", sum)
	}
	rec := w.record("a", sharedB+"small.png")
	data, err := os.ReadFile(filepath.Join(w.tree("a"), rec.Path))
	if err != nil || string(data) != "changed" {
		t.Errorf("%s, %v", data, err)
	}
	if rec.Observed != 3 || rec.Recent != 1 || rec.Source != "" || rec.ETag == "" {
		t.Errorf("learned: %+v", rec)
	}
	w.clock = w.clock.Add(48 * time.Hour)
	w.wants("large.png", "small.png") // too long ago
}

func (w *shared) record(name, url string) record.Resource {
	w.t.Helper()
	st, err := store.OpenState(apptest.StateOf(w.t, w.app), store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite(name)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	var out record.Resource
	err = s.Records.Resources(func(r *record.Resource) error {
		if r.URL.String() == url {
			out = *r
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// A URL whose response may differ by the site's word is requested, and so is one that is too old by it.
func TestFetchOnceByAnswer(t *testing.T) {
	files := map[string]mirrortest.Page{
		"plain.png":    picture("plain"),
		"lasts.png":    picture("lasts", "Cache-Control", "public, max-age=86400"),
		"language.png": picture("language", "Vary", "Accept-Encoding, Accept-Language"),
		"agent.png":    picture("agent", "Vary", "User-Agent"),
		"star.png":     picture("star", "Vary", "*"),
		"referer.png":  picture("referer", "Vary", "Accept, Referer"),
		"private.png":  picture("private", "Cache-Control", "private, max-age=86400"),
		"store.png":    picture("store", "Cache-Control", "no-store"),
		"short.png":    picture("short", "Cache-Control", "max-age=60"),
		"expired.png":  picture("expired", "Expires", "0"),
		"cookie.png":   picture("cookie", "Set-Cookie", "id=1"),
	}
	asked := []string{
		"cookie.png", "expired.png", "private.png", "referer.png", "short.png", "star.png", "store.png",
	}
	w := newShared(t, files)
	w.run("b")
	w.wants(asked...)
}

// Robots rules hold for the job that takes.
func TestFetchOnceRobots(t *testing.T) {
	w := newShared(t, map[string]mirrortest.Page{
		"free.png":   picture("free"),
		"closed.png": picture("closed"),
		"kept.png":   picture("kept", "X-Robots-Tag", "strict: noarchive"),
	})
	w.web.Set(sharedB+"robots.txt", mirrortest.Page{Body: "User-agent: strict\nDisallow: /closed.png\n"})
	w.job("a", sharedA, "polite.user_agent = \"strict/1.0\"\n")
	w.run("b")
	if sum := w.wants(); sum.Disallowed != 2 || sum.Files != 2 {
		t.Errorf("%d disallowed, %d files", sum.Disallowed, sum.Files)
	}
}

// A job with credentials neither gives nor takes; nor does one that must not take.
func TestFetchOnceByJob(t *testing.T) {
	w := newShared(t, map[string]mirrortest.Page{"logo.png": picture("logo")})
	w.app.LookupEnv = func(string) (string, bool) { return "secret", true }
	login := "auth.user = \"u\"\nauth.password = \"${P}\"\n"
	w.job("b", sharedB, login)
	w.run("b")
	w.wants("logo.png")
	for i, settings := range []string{login, "fetch_once = \"0s\"\n"} {
		name := fmt.Sprintf("a%d", i)
		w.job(name, sharedA, settings)
		if sum, asked := w.run(name); len(asked) != 1 || sum.FromSpace != nil || sum.Spared != nil {
			t.Errorf("%s: asked %q, %+v", settings, asked, sum)
		}
	}
}

// A private address that this job may not reach is not taken from a job that may.
func TestFetchOnceInside(t *testing.T) {
	const inside = "http://10.9.8.7/"
	w := newShared(t, nil)
	w.web.Set(inside, mirrortest.HTML("C", `<img src="plan.png">`))
	w.web.Set(inside+"plan.png", picture("plan"))
	w.web.Set(sharedA, mirrortest.HTML("A", `<img src="`+inside+`plan.png">`))
	w.job("c", inside, "")
	w.run("c")
	sum, _ := w.run("a")
	if sum.FromSpace != nil || sum.Files != 1 {
		t.Errorf("%+v", sum)
	}
}

// Nothing is taken from a damaged mirror, and no run waits for one that is locked.
func TestFetchOnceOfDamaged(t *testing.T) {
	w := newShared(t, map[string]mirrortest.Page{
		"small.png": picture("small"),
		"large.png": picture(strings.Repeat("large", 100_000)),
	})
	w.run("b")
	state := apptest.StateOf(t, w.app)
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("b") // which no other process can write meanwhile
	if err != nil {
		t.Fatal(err)
	}
	w.wants()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w.run("b")
	err = filepath.WalkDir(filepath.Join(state, "blobs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil || len(data) == 0 {
			return err
		}
		data[len(data)/2]++
		return errors.Join(os.Remove(name), os.WriteFile(name, data, 0o444))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.web.Set(sharedA, mirrortest.HTML("A", `<img src="`+sharedB+`large.png">`))
	w.job("d", sharedA, "")
	if _, asked := w.run("d"); !slices.Equal(asked, []string{"large.png"}) {
		t.Errorf("asked for %q", asked)
	}
	if err := os.WriteFile(filepath.Join(state, "sites/b/site.db"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := w.wants("small.png")
	if sum.FromSpace["d"] != 1 || sum.FromSpace["b"] != 0 { // which has the large one
		t.Errorf("%+v", sum)
	}
}
