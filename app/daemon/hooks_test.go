// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// hookSite is a job with hooks: shell scripts, each of which adds what it got to a file of its own.
type hookSite struct {
	t        *testing.T
	a        *env.App
	dir      string // of the scripts
	version  atomic.Int64
	requests atomic.Int64
	srv      *httptest.Server
}

func newHookSite(t *testing.T, hooks ...string) *hookSite {
	h := &hookSite{t: t, dir: t.TempDir()}
	h.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, "<title>Home</title><a href=a.html>a</a><p>%d", h.version.Load())
		case "/a.html":
			fmt.Fprint(w, "<title>A</title>")
		case fmt.Sprintf("/new%d.html", h.version.Load()):
			fmt.Fprint(w, "<title>New</title>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(h.srv.Close)
	h.a = apptest.TestApp(t.TempDir())
	h.a.Jobs = t.TempDir()
	h.a.LookupEnv = os.LookupEnv
	text := "url = \"" + h.srv.URL + "/\"\npolicy = \"full\"\npolite.delay = \"0s\"\npolite.factor = 0\n"
	text += "[hooks]\n"
	for _, name := range hooks {
		h.script(name, "exit 0")
		text += fmt.Sprintf("%s = [%q, \"an argument\"]\n", name, filepath.Join(h.dir, name))
	}
	apptest.Put(t, h.a.Jobs, "x.toml", text)
	return h
}

// script makes a hook one that notes what it got and then does something.
func (h *hookSite) script(name, does string) {
	h.t.Helper()
	p := filepath.Join(h.dir, name)
	text := "#!/bin/sh\n{ cat; echo; } >> " + p + ".got\n" +
		"echo \"$1 $MIRRORD_HOOK $MIRRORD_JOB $MIRRORD_VERSION $MIRRORD_VERDICT\" >> " + p + ".env\n" + does + "\n"
	if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// got returns what a hook got since the last call.
func (h *hookSite) got(name string) (in []jobs.HookInput, env string) {
	h.t.Helper()
	p := filepath.Join(h.dir, name)
	data, err := os.ReadFile(p + ".got")
	if errors.Is(err, os.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var i jobs.HookInput
		if err := json.Unmarshal([]byte(line), &i); err != nil {
			h.t.Fatalf("%s: %v", line, err)
		}
		in = append(in, i)
	}
	raw, err := os.ReadFile(p + ".env")
	if err := errors.Join(err, os.Remove(p+".got"), os.Remove(p+".env")); err != nil {
		h.t.Fatal(err)
	}
	return in, string(raw)
}

func (h *hookSite) run() (*mirror.Summary, error) {
	return runs.RunNow(h.t.Context(), h.a, runs.RunHere{Job: "x"})
}

// complete makes a run that must end complete.
func (h *hookSite) complete() *mirror.Summary {
	h.t.Helper()
	sum, err := h.run()
	if err != nil {
		h.t.Fatal(err)
	}
	return sum
}

func (h *hookSite) status() status.Job {
	h.t.Helper()
	s, err := look.JobStatus(h.a, "x", time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func TestHooks(t *testing.T) {
	h := newHookSite(t, "before", "published", "after")
	h.complete()
	if in, env := h.got("before"); len(in) != 1 || in[0].Version != 0 || env != "an argument before x 0 \n" {
		t.Errorf("before: %+v, %q", in, env)
	}
	in, env := h.got("published")
	if len(in) != 1 || !in[0].Published || in[0].Version != 1 || in[0].Files != nil {
		t.Errorf("published: %+v", in)
	}
	if env != "an argument published x 1 complete\n" {
		t.Errorf("published: %q", env)
	}
	if _, err := os.Stat(filepath.Join(in[0].Dir, "index.html")); err != nil {
		t.Error(err)
	}
	if in, _ := h.got("after"); len(in) != 1 || in[0].Verdict != "complete" {
		t.Errorf("after: %+v", in)
	}

	h.complete() // nothing changed
	if in, _ := h.got("published"); in != nil {
		t.Errorf("published, without a version: %+v", in)
	}
	if in, _ := h.got("after"); len(in) != 1 || in[0].Published {
		t.Errorf("after: %+v", in)
	}

	// A failure is said, and the next run repeats it: also when that one has nothing to publish.
	h.script("published", "echo no room in the cache; exit 3")
	h.version.Store(1)
	sum := h.complete()
	const why = "hooks.published failed: exit status 3: no room in the cache"
	if !sum.Published || len(sum.Notes) == 0 || sum.Notes[len(sum.Notes)-1].What != why {
		t.Errorf("published %v, notes %+v", sum.Published, sum.Notes)
	}
	if s := h.status(); len(s.Hooks) != 1 || s.Hooks[0] != why {
		t.Errorf("status %q", s.Hooks)
	}
	h.got("published")
	h.script("published", "exit 0")
	if sum := h.complete(); sum.Published {
		t.Error("it was published again")
	}
	in, _ = h.got("published")
	if len(in) != 1 || in[0].Published || in[0].Version != 2 || in[0].Since != 1 || in[0].Files == nil {
		t.Fatalf("published: %+v", in)
	}
	want := []jobs.HookFile{{Path: "index.html", URL: h.srv.URL + "/"}}
	if f := in[0].Files; len(f.Added)+len(f.Removed) > 0 || len(f.Changed) != 1 || f.Changed[0] != want[0] {
		t.Errorf("files %+v", f)
	}
	if s := h.status(); len(s.Hooks) != 0 {
		t.Errorf("status %q", s.Hooks)
	}

	// A rollback publishes too, and requests nothing.
	h.got("before")
	if _, err := runs.Rollback(t.Context(), h.a, "x", 1); err != nil {
		t.Fatal(err)
	}
	if in, _ := h.got("before"); in != nil {
		t.Errorf("before a rollback: %+v", in)
	}
	if in, _ := h.got("published"); len(in) != 1 || in[0].Version != 3 || in[0].Restores != 1 {
		t.Errorf("published: %+v", in)
	}
}

// Exit code 75 postpones the run, in the daemon too; any other failure does not.
func TestHookBefore(t *testing.T) {
	h := newHookSite(t, "before", "after")
	h.script("before", "echo the volume is not mounted; exit 75")
	var said bytes.Buffer
	h.a.Log = slog.New(slog.NewTextHandler(&said, nil))
	sum, err := h.run()
	log := said.String()
	if !strings.Contains(log, "hook postponed the run") || strings.Contains(log, "level=WARN") {
		t.Errorf("log: %s", log)
	}
	if e, ok := errors.AsType[*env.Error](err); !ok || e.Kind != env.Partial || sum != nil ||
		!strings.Contains(err.Error(), "postponed the run: exit status 75: the volume is not mounted") {
		t.Errorf("%v, %v", sum, err)
	}
	if n := h.requests.Load(); n > 0 {
		t.Errorf("%d requests", n)
	}
	if in, _ := h.got("after"); in != nil {
		t.Errorf("after: %+v", in)
	}
	st, err := store.OpenState(apptest.StateOf(t, h.a), store.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	j, err := h.a.FindJob("x")
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{
		app:   h.a,
		st:    st,
		hosts: new(fetch.Hosts),
		most:  new(atomic.Int64),
	}
	run := r.Run(t.Context(), j, scheduler.RunOptions{})
	if run.Cause != status.Postponed || run.Verdict != status.VerdictPartial || run.Error != "" {
		t.Errorf("run %+v", run)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	h.script("before", "exit 1")
	sum = h.complete()
	if !sum.Published || sum.Notes[len(sum.Notes)-1].What != "hooks.before failed: exit status 1" {
		t.Errorf("published %v, notes %+v", sum.Published, sum.Notes)
	}
}

// A hook that does not end is killed; one that is not there has failed. Neither costs the version.
func TestHookThatHangsOrIsNotThere(t *testing.T) {
	h := newHookSite(t, "published", "after")
	h.script("published", "sleep 100000 & wait")
	if err := os.Remove(filepath.Join(h.dir, "after")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.a.Jobs, "x.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "timeout = \"1s\"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if sum := h.complete(); !sum.Published {
		t.Error("nothing was published")
	}
	said := strings.Join(h.status().Hooks, "\n")
	if !strings.Contains(said, "hooks.published failed: it took longer than hooks.timeout = 1s") ||
		!strings.Contains(said, "hooks.after failed: fork/exec") {
		t.Errorf("status %s", said)
	}
	c, err := jobs.Check(t.Context(), h.a, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	w := strings.Join(c.Files[0].Warnings, "\n")
	if !strings.Contains(w, "hooks.after: there is no program") || strings.Contains(w, "hooks.published") {
		t.Errorf("check: %s", w)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "after"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err = jobs.Check(t.Context(), h.a, nil, false)
	if err != nil || !strings.Contains(strings.Join(c.Files[0].Warnings, "\n"), "may not run") {
		t.Errorf("check: %v, %v", c.Files[0].Warnings, err)
	}
}

// A user who may command the daemon may not name commands.
func TestHooksAreOfTheJobFile(t *testing.T) {
	j, err := job.Parse("x", "x.toml", []byte("url = \"http://x.example/\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	sets := []string{"hooks.before=/bin/true", " hooks.after = [\"/bin/true\"]", "hooks.timeout=1s"}
	for _, set := range sets {
		err := jobs.Apply(j, control.RunRequest{Set: []string{set}})
		if err == nil || !strings.Contains(err.Error(), "only a job file may") {
			t.Errorf("%s: %v", set, err)
		}
	}
	if len(j.Hooks.Commands()) > 0 {
		t.Errorf("hooks %+v", j.Hooks)
	}
}
