// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/scheduler/status"
	"mirrord/testing/poll"
)

// TestClusterFacts has three nodes, of which one is the source of the job files. All jobs are seen, run and
// paused from each of them; files that are edited on two machines stay, and the command that status names
// makes them the same again.
func TestClusterFacts(t *testing.T) {
	long(t, "a minute")
	dir := t.TempDir()
	seen := &visits{last: map[string]visit{}, count: map[string]int{}}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, "jobs-"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const sites = 6
	for i := range sites {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 40+i))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(seen)
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		defer srv.Close()
		put(t, filepath.Join(dir, "jobs-a"), fmt.Sprintf("s%d.toml", i),
			fmt.Sprintf("url = \"http://%s/\"\n[polite]\ndelay = \"10ms\"\n", l.Addr()))
	}
	keeper, depot := unusedAddress(t), "file://"+filepath.Join(dir, "depot")
	var logs [3]bytes.Buffer
	consoles, processes := map[string]string{}, map[string]*os.Process{}
	killed := ""
	for i, name := range names {
		consoles[name] = unusedAddress(t)
		args := []string{
			"daemon", "--jobs", filepath.Join(dir, "jobs-"+name), "--state", filepath.Join(dir, name), "--spread", "0",
			"--poll", "1s", "--node", name, "--depot", depot,
			"--console", consoles[name],
		}
		if name == "c" {
			args = append(args, "--follow")
		}
		if i == 0 {
			args = append(args, "--keeper", keeper, "--jobs-source")
		} else {
			args = append(args, "--cluster", "nats://"+keeper)
		}
		cmd := exec.Command("mirrord", args...)
		cmd.Stderr = &logs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes[name] = cmd.Process
		defer func() {
			cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil && name != killed {
				t.Errorf("%s: %v", name, err)
			}
			if t.Failed() {
				t.Logf("%s:\n%s", name, &logs[i])
			}
		}()
	}
	on := func(name string, args ...string) (string, error) {
		cmd := exec.Command("mirrord", append(args, "--state", filepath.Join(dir, name), "--jobs",
			filepath.Join(dir, "jobs-"+name))...)
		cmd.Env = append(os.Environ(), "MIRRORD_CLUSTER=nats://"+keeper)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	list := func(name string) (jobs []status.Job) {
		out, err := on(name, "status", "--json")
		if err != nil || json.Unmarshal([]byte(out), &jobs) != nil {
			return nil
		}
		return jobs
	}
	var has map[string]string
	since := time.Now() // has is the same
	poll.Until(t, "all jobs with their nodes on each, which no longer move", func() bool {
		for _, name := range names {
			now := map[string]string{}
			for _, j := range list(name) {
				if j.Node != "" {
					now[j.Name] = j.Node
				}
			}
			if len(now) != sites || !maps.Equal(has, now) {
				has, since = now, time.Now()
			}
		}
		return time.Since(since) > 5*time.Second
	})
	t.Log(has)
	for i := range sites {
		job, from := fmt.Sprintf("s%d", i), names[i%3]
		if out, err := on(from, "run-now", job); err != nil {
			t.Errorf("%s from %s: %v\n%s", job, from, err, out)
		}
		for _, do := range []string{"pause", "resume"} {
			if out, err := on(names[(i+1)%3], do, job); err != nil {
				t.Errorf("%s %s: %v\n%s", do, job, err, out)
			}
		}
		for _, name := range names {
			if out, err := on(name, "status", job, "--runs", "3"); err != nil || !strings.Contains(out, "complete") {
				t.Errorf("runs of %s on %s: %v\n%s", job, name, err, out)
			}
		}
	}
	for _, name := range []string{"a", "b"} { // c follows
		for job, node := range has {
			out, err := on(name, "status", job, "--versions")
			there := strings.Contains(out, "is with node "+node+" ")
			if there == (node == name) || (err == nil) != (node == name) {
				t.Errorf("versions of %s, which %s has, on %s: %v\n%s", job, node, name, err, out)
			}
		}
	}
	if n := len(seen.runs()); n != sites {
		t.Errorf("%d sites were visited", n)
	}

	at := unusedAddress(t)
	reader := exec.Command("mirrord", "serve", "--depot", depot, "--listen", at, "--state",
		filepath.Join(dir, "reader"))
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		reader.Process.Signal(os.Interrupt)
		reader.Wait()
	}()
	before := len(seen.runs())
	for i := range sites {
		job := fmt.Sprintf("s%d", i)
		poll.Until(t, "the reader serves "+job, func() bool {
			req, err := http.NewRequest(http.MethodGet, "http://"+at+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = job + ".localhost"
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
		poll.Until(t, "a node that follows has "+job, func() bool {
			out, err := on("c", "status", job, "--versions")
			return err == nil && strings.Contains(out, "1")
		})
	}
	if n := len(seen.runs()); n != before {
		t.Errorf("%d sites were visited by readers", n-before)
	}

	if out, err := on("a", "console", "token", "add", "ci"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	poll.Until(t, "a token on another node", func() bool {
		out, err := on("c", "console", "token", "list")
		return err == nil && strings.Contains(out, "ci")
	})

	// a browser whose requests a load balancer sends to one node or another
	var cookies []*http.Cookie
	browse := func(name, method, path string) (int, string) {
		req, err := http.NewRequest(method, "http://"+consoles[name]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = consoles["a"]
		for _, c := range cookies {
			req.AddCookie(c)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if cookies == nil {
			cookies = resp.Cookies()
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	link, err := on("a", "open")
	_, path, ok := strings.Cut(strings.TrimSpace(link), consoles["a"])
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, link)
	}
	browse("a", http.MethodGet, path)
	for _, name := range []string{"b", "c", "a"} {
		if code, page := browse(name, http.MethodGet, "/"); code != http.StatusOK {
			t.Errorf("logged in on a, on %s: %d\n%s", name, code, page)
		}
		code, page := browse(name, http.MethodGet, "/audit")
		if code != http.StatusOK || !strings.Contains(page, "<td>a</td>") || strings.Contains(page, "is missing") {
			t.Errorf("the audit log on %s: %d\n%s", name, code, page)
		}
		for job, node := range has {
			if code, page := browse(name, http.MethodGet, "/jobs/"+job+"/versions"); code != http.StatusOK {
				t.Errorf("versions of %s, which %s has, on %s: %d\n%s", job, node, name, code, page)
			}
			code, file := browse(name, http.MethodGet, "/jobs/"+job+"/export?format=phm")
			if code != http.StatusOK || !strings.HasPrefix(file, "PK") {
				t.Errorf("%s, which %s has, downloaded from %s: %d, %d bytes", job, node, name, code, len(file))
			}
		}
		if code, page := browse(name, http.MethodGet, "/orders"); code != 200 || strings.Contains(page, "missing") {
			t.Errorf("orders on %s: %d\n%s", name, code, page)
		}
		for _, node := range names {
			code, page := browse(name, http.MethodGet, "/orders/1@"+node)
			if code != http.StatusNotFound || !strings.Contains(page, "no such order") {
				t.Errorf("an order of %s on %s: %d\n%s", node, name, code, page)
			}
		}
	}
	if code, page := browse("c", http.MethodPost, "/logout"); code != http.StatusSeeOther {
		t.Errorf("logout: %d\n%s", code, page)
	}
	for _, name := range names {
		poll.Until(t, "logged out on c, on "+name, func() bool {
			code, _ := browse(name, http.MethodGet, "/")
			return code == http.StatusUnauthorized
		})
	}

	edit := func(name, job, text string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, "jobs-"+name, job+".toml"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	says := func(what string) {
		t.Helper()
		poll.Until(t, what, func() bool {
			out, err := on("c", "cluster", "status")
			return err == nil && strings.Contains(out, what)
		})
	}
	edit("b", "s0", "# of b\n")
	says("node b: edited here: s0;")
	edit("a", "s1", "# of a\n")
	says("node b: edited here: s0, and on another machine")
	if out, err := on("b", "cluster", "jobs", "push"); err == nil {
		t.Errorf("pushed without a choice: %s", out)
	}
	if out, err := on("b", "cluster", "jobs", "push", "--again", "--node", "b"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range names {
		poll.Until(t, "both edits on "+name, func() bool {
			s0, err := os.ReadFile(filepath.Join(dir, "jobs-"+name, "s0.toml"))
			s1, err1 := os.ReadFile(filepath.Join(dir, "jobs-"+name, "s1.toml"))
			return err == nil && err1 == nil && bytes.Contains(s0, []byte("# of b")) &&
				bytes.Contains(s1, []byte("# of a"))
		})
	}
	poll.Until(t, "no node differs", func() bool {
		out, err := on("c", "cluster", "status")
		return err == nil && !strings.Contains(out, "edited") && strings.Contains(out, "6 job files, of node b")
	})

	job := ""
	for _, j := range list("a") {
		if j.Node != "a" { // which is the keeper
			job, killed = j.Name, j.Node
		}
	}
	if job == "" {
		t.Fatal("node a has all jobs")
	}
	if out, err := on("a", "pause", job); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := processes[killed].Kill(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a job that was paused on a node that was killed is paused on another one", func() bool {
		for _, j := range list("a") {
			if j.Name == job && j.Node != killed && j.Node != "" {
				return j.Activity == status.Paused
			}
		}
		return false
	})
}
