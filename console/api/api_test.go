// SPDX-License-Identifier: Apache-2.0

package api

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/app/access"
	"mirrord/app/jobs"
	"mirrord/app/ops"
)

// Each call answers as openapi.yaml says, done and refused.
func TestCalls(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	read, operate := c.token[access.Read], c.token[access.Operate]
	c.want(200, "openapi: 3.0.3", "", "GET", "/v1/openapi.yaml", "")
	c.want(200, `{"name":"token:read","role":"read"}`, read, "GET", "/v1/me", "")
	c.want(200, `"role":"read"`, "", "GET", "/v1/me", "", "Authorization", "bearer "+read)
	c.want(200, `"job":"docs"`, read, "GET", "/v1/status", "")
	c.want(200, `"registry"`, read, "GET", "/v1/registry", "")
	c.want(200, "mirrord_", read, "GET", "/v1/metrics", "")
	c.want(200, `"job":"docs"`, read, "GET", "/v1/jobs/docs", "")
	c.want(404, "not_found", read, "GET", "/v1/jobs/nosuch", "")
	c.want(200, `"verdict"`, read, "GET", "/v1/jobs/docs/runs?n=5", "")
	c.want(400, "n is a number", read, "GET", "/v1/jobs/docs/runs?n=0", "")
	c.want(404, "not_found", read, "GET", "/v1/jobs/docs/versions", "")

	c.want(200, `"next":"docs"`, read, "GET", "/v1/jobs?limit=1", "")
	if got := c.want(200, `"job":"wiki"`, read, "GET", "/v1/jobs?limit=1&after=docs", ""); strings.Contains(got, "next\"") {
		t.Errorf("the last page names another one: %s", got)
	}
	c.want(400, "limit is a number", read, "GET", "/v1/jobs?limit=1001", "")

	c.want(202, `"attached":false`, operate, "POST", "/v1/jobs/docs/run", `{"full":true,"wait":false}`)
	c.want(202, `"attached":false`, operate, "POST", "/v1/jobs/docs/run", "")
	c.want(200, `"verdict":"complete"`, operate, "POST", "/v1/jobs/docs/run", `{"wait":true}`)
	c.want(400, "invalid", operate, "POST", "/v1/jobs/docs/run", `{"fast":true}`)
	c.want(404, "not_found", operate, "POST", "/v1/jobs/nosuch/run", `{"wait":true}`)
	for _, what := range []string{"cancel", "pause", "resume"} {
		c.want(200, `"job":"docs"`, operate, "POST", "/v1/jobs/docs/"+what, "")
		c.want(404, "not_found", operate, "POST", "/v1/jobs/nosuch/"+what, "")
		if a := c.lastAct(); a.Who != "token:operate" || a.What != what || a.Job != "nosuch" || a.Error == "" {
			t.Errorf("the audit log has %+v", a)
		}
	}
	c.want(200, `"to":"ann"`, operate, "POST", "/v1/jobs/docs/notify", "")
	const equivalents = "/v1/jobs/docs/equivalents"
	c.want(200, `"base2":"https://good.test/"`, operate, "POST", equivalents, `{"at":"https://good.test/"}`)
	c.want(400, "not registered: mismatch", operate, "POST", equivalents, `{"at":"https://lies.test/"}`)
	c.want(403, "role", read, "POST", equivalents, `{"at":"https://good.test/"}`)
	c.want(200, `"changes"`, operate, "POST", "/v1/reload", "")
	c.want(200, `"what":"reload"`, operate, "GET", "/v1/audit?limit=2", "")
	if missing := c.do(operate, "GET", "/v1/audit", "").Header.Get("Mirrord-Missing"); missing != "b" {
		t.Errorf("the acts of node b are missing, and the answer names %q", missing)
	}
	want := []string{"run full=true accept=false docs", "run full=false accept=false docs",
		"run full=false accept=false docs", "cancel docs", "pause docs", "resume docs",
		"register https://good.test/ docs", "reload"}
	if got := c.daemon.done(); !slices.Equal(got, want) {
		t.Errorf("done: %v, want %v", got, want)
	}
	c.want(405, "takes GET, HEAD", read, "DELETE", "/v1/status", "")
	if allow := c.do("", "PATCH", "/v1/jobs/docs", "").Header.Get("Allow"); allow != "DELETE, GET, HEAD" {
		t.Errorf("Allow: %s", allow)
	}
	c.want(404, "no such call", "", "GET", "/v1/nosuch", "")
}

// A job is made, changed against its tag, and removed; what reaches the machine is refused.
func TestJobFiles(t *testing.T) {
	c := newClient(t, time.Now)
	c.spec = loadSpec(t)
	operate := c.token[access.Operate]
	c.want(201, `"job":"new"`, operate, "POST", "/v1/jobs", `{"job":"new","url":"https://new.example/","schedule":"@daily"}`)
	c.want(201, `"job":"whole"`, operate, "POST", "/v1/jobs", `{"job":"whole","text":"url = \"https://whole.example/\"\n"}`)
	c.want(201, `"job":"later"`, operate, "POST", "/v1/jobs",
		`{"job":"later","url":"https://later.example/","schedule":"@daily","paused":true}`)
	if changed, err := jobs.SetPaused(c.srv.App, "later", true); changed || err != nil {
		t.Errorf("made paused, and it is not: %v", err)
	}
	c.want(409, "conflict", operate, "POST", "/v1/jobs", `{"job":"new","url":"https://new.example/"}`)
	for body, want := range map[string]string{
		`{}`:                        "url",
		`{"url":"nonsense"}`:        "nonsense",
		`{"url":"http://10.0.0.7"}`: "private address",
		`{"url":"http://localhost:8500/","job":"consul"}`:                                     "private address",
		`{"job":"x","text":"url = \"https://x.example/\"\n[hooks]\nafter = \"/bin/sh\"\n"}`:   "hooks.after",
		`{"job":"x","text":"url = \"https://x.example/\"\n[polite]\nallow_private = true\n"}`: "allow_private",
		`{"job":"x","text":"uri = \"https://x.example/\"\n"}`:                                 `"line":1`,
	} {
		c.want(422, want, operate, "POST", "/v1/jobs", body)
	}
	for body, want := range map[string]string{
		`{"job":"../x","url":"https://x.example/"}`:                  "cannot name a job",
		`{"job":"x","url":"https://x.example/","text":"url = 1"}`:    "not both",
		`{"job":"x","url":"https://x.example/","command":"rm -r /"}`: "unknown field",
		`{"job":"x"} {}`: "more than one value",
		`{"text":"url = \"https://x.example/\""}`: "name the job beside it",
		`[]`: "invalid",
		"":   "invalid",
	} {
		c.want(400, want, operate, "POST", "/v1/jobs", body)
	}
	c.want(413, "too_large", operate, "POST", "/v1/jobs", `{"text":"`+strings.Repeat("x", most)+`"}`)
	if names, _ := os.ReadDir(c.jobs); len(names) != 4 {
		t.Errorf("job files: %v", names)
	}

	resp := c.do(operate, "GET", "/v1/jobs/docs/file", "")
	tag := resp.Header.Get("ETag")
	better := docsFile + "schedule = \"@daily\"\n"
	c.want(428, "If-Match", operate, "PUT", "/v1/jobs/docs/file", better)
	c.want(412, "changed on the disk", operate, "PUT", "/v1/jobs/docs/file", better, "If-Match", `"0000"`)
	for text, want := range map[string]string{
		better + "[hooks]\nafter = \"id\"\n":  "hooks.after",
		"url = \"http://169.254.169.254/\"\n": "url",
	} {
		c.want(422, want, operate, "PUT", "/v1/jobs/docs/file", text, "If-Match", tag)
	}
	c.want(404, "not_found", operate, "PUT", "/v1/jobs/nosuch/file", better, "If-Match", tag)
	c.want(200, `"etag"`, operate, "PUT", "/v1/jobs/docs/file", better, "If-Match", tag)
	c.want(412, "precondition", operate, "PUT", "/v1/jobs/docs/file", docsFile, "If-Match", tag)
	c.want(200, "@daily", operate, "GET", "/v1/jobs/docs/file", "")

	c.want(200, `"was":"docs"`, operate, "POST", "/v1/jobs/docs/rename", `{"to":"handbook"}`)
	c.want(400, "invalid", operate, "POST", "/v1/jobs/wiki/rename", `{"to":"../x"}`)
	if a := c.lastAct(); a.What != "rename" || a.Job != "wiki" || a.Error == "" {
		t.Errorf("the audit log has %+v", a)
	}
	c.put("docs", better)
	c.want(428, "If-Match", operate, "POST", "/v1/jobs/docs/forget?what=*.iso&reason=x", "")
	c.want(400, "no mirror yet", operate, "POST", "/v1/jobs/docs/forget?what=*.iso&reason=x&dry_run", "")

	c.want(428, "If-Match", operate, "DELETE", "/v1/jobs/docs", "")
	c.want(412, "precondition", operate, "DELETE", "/v1/jobs/docs", "", "If-Match", tag)
	c.want(200, `"file"`, operate, "DELETE", "/v1/jobs/docs?dry_run", "")
	tag = c.do(operate, "GET", "/v1/jobs/docs/file", "").Header.Get("ETag")
	c.want(200, `"file"`, operate, "DELETE", "/v1/jobs/docs", "", "If-Match", tag)
	if a := c.lastAct(); a.What != "remove the job" || a.Job != "docs" || a.Error != "" {
		t.Errorf("the audit log has %+v", a)
	}
	if _, err := os.Stat(c.jobs + "/docs.toml"); err == nil {
		t.Error("the job file is there still")
	}
}

// Each call needs a token with its role. Wrong tokens get nothing, and only some get into the audit log.
func TestTokens(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := newClient(t, func() time.Time { return now })
	c.spec = loadSpec(t)
	ended, fact := access.NewToken(access.Operate, now, now.Add(time.Hour))
	c.facts.tokens["ended"] = fact
	roles := []access.Role{access.Read, access.Order, access.Operate}
	of := map[access.Role]int{}
	for _, o := range ops.Table() {
		method, path, _ := strings.Cut(strings.ReplaceAll(o.Call, "{job}", "docs"), " ")
		if o.Lacks(ops.API) != "" || o.Need == access.Anonymous {
			continue
		}
		of[o.Need]++
		now = now.Add(time.Minute) // no limit is met here
		c.want(401, "unauthorized", "", method, path, "")
		for _, role := range roles {
			if role < o.Need {
				c.want(403, "forbidden", c.token[role], method, path, "")
				if a := c.lastAct(); a.Who != "token:"+role.String() || a.Error == "" {
					t.Errorf("%s: the audit log has %+v", o.Name, a)
				}
			}
		}
	}
	if len(c.daemon.done()) > 0 || of[access.Operate] < 10 {
		t.Errorf("done: %v; routes: %v", c.daemon.done(), of)
	}
	now = now.Add(-24 * time.Hour)
	c = newClient(t, c.now)
	c.facts.tokens["ended"] = fact
	c.want(200, "token:ended", ended, "GET", "/v1/me", "")
	now = now.Add(25 * time.Hour)
	c.want(401, "unauthorized", ended, "GET", "/v1/me", "")
	delete(c.facts.tokens, "read")
	now = now.Add(time.Second)
	c.want(401, "unauthorized", c.token[access.Read], "GET", "/v1/me", "")
	secret := c.token[access.Operate]
	for _, wrong := range []string{"x", strings.ToUpper(secret), secret[1:], secret + "0", "Basic x",
		access.Digest(secret), c.facts.tokens["operate"].Digest} {
		c.want(401, "unauthorized", wrong, "GET", "/v1/me", "")
	}
	c.want(401, "unauthorized", "", "GET", "/v1/me?token="+secret, "")
	c.want(401, "unauthorized", "", "GET", "/v1/me", "", "Cookie", "mirrord-console-9181="+secret)
}

// A stream of events ends, and says why, soon after its token was removed. The run continues.
func TestStreamEndsWithToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, time.Now)
		c.spec = loadSpec(t)
		run := &fakeRun{make(chan struct{})}
		c.daemon.running = map[string]*fakeRun{"docs": run}
		var got string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			got = c.want(200, "", c.token[access.Operate], "POST", "/v1/jobs/docs/run", `{"wait":true}`)
		}()
		time.Sleep(time.Minute)
		select {
		case <-ended:
			t.Fatal("the stream ended by itself")
		default:
		}
		c.facts.mu.Lock()
		delete(c.facts.tokens, "operate")
		c.facts.mu.Unlock()
		time.Sleep(5 * time.Second)
		select {
		case <-ended:
		default:
			t.Error("the stream continues without its token")
			close(run.done)
			<-ended
		}
		lines := strings.Split(strings.TrimSpace(got), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, `{"error":{"code":"unauthorized"`) {
			t.Errorf("the last event is %s", last)
		}
	})
}

// Very many guesses get no answer, fill no log, and keep out no owner of a token; in the long run they are
// 10 000. And no token calls without end.
func TestLimits(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := newClient(t, func() time.Time { return now })
	codes, all := map[int]int{}, 1000
	if os.Getenv("MIRRORD_LONG") != "" {
		all = 10_000
	}
	for range all {
		codes[c.do(access.NewSecret(), "GET", "/v1/status", "").StatusCode]++
	}
	if codes[401] != wrongBurst || codes[429] != all-wrongBurst || len(c.facts.audit) != wrongBurst {
		t.Errorf("answers: %v; the audit log has %d entries", codes, len(c.facts.audit))
	}
	c.want(200, "", c.token[access.Read], "GET", "/v1/me", "")
	c.from = "[2001:db8::1]:1"
	c.want(401, "", "x", "GET", "/v1/me", "")

	clear(codes)
	for range 2 * callBurst {
		codes[c.do(c.token[access.Order], "GET", "/v1/me", "").StatusCode]++
	}
	if codes[200] != callBurst || codes[429] != callBurst {
		t.Errorf("answers: %v", codes)
	}
	if resp := c.do(c.token[access.Order], "GET", "/v1/me", ""); resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.want(200, "", c.token[access.Read], "GET", "/v1/me", "")
	now = now.Add(time.Minute)
	c.want(200, "", c.token[access.Order], "GET", "/v1/me", "")
}
