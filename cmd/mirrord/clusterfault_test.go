// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/cmd/mirrord/cluster"
	"mirrord/store/away"
	"mirrord/testing/badnet"
	"mirrord/testing/certtest"
	"mirrord/testing/objectstest"
)

// TestClusterCutOff cuts a node off from the keeper, in both directions and in each.
func TestClusterCutOff(t *testing.T) {
	long(t, "six minutes")
	w := newClusterWorld(t, 6, 1, "")
	wire := badnet.Open(t, w.clients["a"])
	w.at["c"] = "nats://" + wire.Address
	w.start("a", "b", "c")
	w.allRun("at first")
	for _, tc := range []struct {
		what     string
		up, down bool
	}{
		{"a node cut off", false, false},
		{"what it sends is lost", false, true},
		{"what it is sent is lost", true, false},
	} {
		wire.Pass(tc.up, tc.down)
		w.allRun(tc.what)
		wire.Pass(true, true)
		w.allRun("it is back")
	}
	w.finish()
}

// moody is an S3 server that misbehaves on demand.
type moody struct {
	http.Handler
	mood atomic.Pointer[string]
	n    atomic.Int64
}

func (m *moody) set(mood string) { m.mood.Store(&mood) }

// ServeHTTP implements http.Handler.
func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := m.n.Add(1)
	switch *m.mood.Load() {
	case "503":
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "<Error><Code>SlowDown</Code><Message>later</Message></Error>")
		return
	case "slow":
		time.Sleep(2 * time.Second) // as slow as the mood says
	case "answers lost":
		if r.Method == http.MethodPut && n%3 == 0 {
			m.Handler.ServeHTTP(discard{}, r)
			panic(http.ErrAbortHandler)
		}
	case "expired":
		if strings.Contains(r.Header.Get("Authorization"), "Credential=old/") {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "<Error><Code>ExpiredToken</Code><Message>it has expired</Message></Error>")
			return
		}
	}
	m.Handler.ServeHTTP(w, r)
}

// discard is an answer without a reader.
type discard struct{}

func (discard) Header() http.Header { return http.Header{} }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (discard) WriteHeader(int) {}

// TestClusterStore has an S3 server that answers 503 for a while, is slow, loses answers to what it has done,
// and lets keys expire.
func TestClusterStore(t *testing.T) {
	long(t, "seven minutes")
	server := new(moody)
	server.set("")
	endpoint := objectstest.Serve(t, func(h http.Handler) http.Handler {
		server.Handler = h
		return server
	})
	keys := filepath.Join(t.TempDir(), "credentials")
	write := func(key string) {
		t.Helper()
		text := "[default]\naws_access_key_id = " + key + "\naws_secret_access_key = something-secret\n"
		if err := os.WriteFile(keys+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(keys+".new", keys); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	w := newClusterWorld(t, 6, 3, "s3://"+objectstest.Bucket+"/x", "AWS_ENDPOINT_URL="+endpoint,
		"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_SHARED_CREDENTIALS_FILE="+keys)
	w.start("a", "b", "c")
	w.allRun("at first")
	server.set("503")
	w.signal(syscall.SIGKILL, "c")
	w.start("c")
	time.Sleep(75 * time.Second) // the fault lasts longer than a minute
	w.says("c", "the depot does not answer", time.Second)
	server.set("")
	w.allRun("503 for 75 s")
	for _, mood := range []string{"slow", "answers lost"} {
		server.set(mood)
		w.allRun(mood)
	}
	server.set("expired")
	time.Sleep(75 * time.Second) // the fault lasts longer than a minute
	write("new")
	w.allRun("keys expired, and were renewed after 75 s")
	w.finish()
	said := 0
	for _, name := range []string{"a", "b", "c"} {
		text, err := os.ReadFile(w.log(name))
		if err == nil && strings.Contains(string(text), "have expired; renew them") {
			said++
		}
	}
	if said == 0 {
		t.Error("no node says that the keys have expired")
	}
}

// TestClusterDiskFull fills the disk of the depot, then that of a node.
func TestClusterDiskFull(t *testing.T) {
	long(t, "five minutes")
	small := func(dir string) string {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); errors.Is(err, unix.EPERM) {
			t.Skip("only root can make a small disk: mount a tmpfs")
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	disk := small(filepath.Join(t.TempDir(), "depot"))
	w := newClusterWorld(t, 6, 3, "file://"+filepath.Join(disk, "depot"))
	fill := func(dir string) (free func()) {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		for block := make([]byte, 64<<10); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
				t.Error(err)
			}
		}
	}
	own := small(filepath.Join(w.dir, "c"))
	w.start("a", "b", "c")
	w.allRun("at first")
	free := fill(disk)
	time.Sleep(75 * time.Second) // the fault lasts longer than a minute
	free()
	w.allRun("the depot's disk was full for 75 s")
	free = fill(own)
	time.Sleep(75 * time.Second) // the fault lasts longer than a minute
	drain := []string{"cluster", "drain", "c", "--cluster", w.servers, "--cluster-secret", w.secret}
	if out, err := w.command(drain...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.allRun("a node's disk is full, and it is drained")
	free()
	if out, err := w.command(append(drain, "--off")...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.allRun("it has room again")
	w.finish()
}

// TestClusterTwo has a second cluster on the depot of the first one, which waits; then the first one is gone
// for good, and the second one takes the depot over.
func TestClusterTwo(t *testing.T) {
	long(t, "three minutes")
	w := newClusterWorld(t, 3, 1, "")
	w.start("a")
	w.allRun("at first")
	first := w.servers
	w.keepers("z")
	second := w.servers
	w.servers = first
	w.at["z"] = second
	w.start("z")
	w.says("z", "the depot is another cluster's", time.Minute)
	w.allRun("another cluster waits")
	if n := w.nodes()["z"]; n > 0 {
		t.Errorf("it requests %d hosts", n)
	}
	w.signal(syscall.SIGKILL, "a")
	time.Sleep(15 * time.Second) // longer than the lease of the node that was killed
	out, err := w.command("cluster", "adopt", "--cluster", second, "--cluster-secret", w.secret,
		"--depot", w.depot)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.allRun("it has taken the depot over")
	w.finish()
}

// TestClusterEmptied removes parts of the depot, and adds a node with mirrors of another cluster: nothing
// is overwritten, logs name the missing parts, and their advice helps.
func TestClusterEmptied(t *testing.T) {
	long(t, "six minutes")
	w := newClusterWorld(t, 3, 1, "")
	w.start("a")
	w.allRun("at first")
	folder := strings.TrimPrefix(w.depot, "file://")
	for _, part := range []string{"data", "manifests"} {
		if err := os.RemoveAll(filepath.Join(folder, part)); err != nil {
			t.Fatal(err)
		}
		before := w.versions()
		w.says("a", part+"/", 2*time.Minute)
		if after := w.versions(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("without %s: %v became %v", part, before, after)
		}
		w.stop("a")
		args := []string{"cluster", "push", "--again", "--depot", w.depot, "--state", filepath.Join(w.dir, "a"),
			"--jobs", filepath.Join(w.dir, "jobs")}
		if out, err := w.command(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		w.start("a")
		w.allRun(part + " were removed, and put again")
	}
	// all of it
	everything, err := filepath.Glob(filepath.Join(folder, "[a-z]*"))
	for _, name := range everything {
		err = errors.Join(err, os.RemoveAll(name))
	}
	if err != nil || len(everything) < 4 {
		t.Fatal(everything, err)
	}
	w.says("a", "the store was emptied, or the address is wrong", 2*time.Minute)
	w.stop("a")
	w.forget()
	for _, args := range [][]string{
		{"cluster", "push", "--again", "--depot", w.depot, "--state", filepath.Join(w.dir, "a"), "--jobs",
			filepath.Join(w.dir, "jobs")},
		{"daemon"}, // refuses: see below
		{"cluster", "adopt", "--cluster", w.servers, "--cluster-secret", w.secret, "--depot", w.depot},
	} {
		if args[0] == "daemon" {
			w.start("a")
			w.says("a", "mirrord cluster adopt", time.Minute)
		} else if out, err := w.command(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	w.allRun("all was removed, put again and adopted")
	strange := filepath.Join(w.dir, "s")
	for _, args := range [][]string{
		{"run-now", "s0", "--state", strange, "--jobs", filepath.Join(w.dir, "jobs")},
		{"cluster", "drain", "a", "--cluster", w.servers, "--cluster-secret", w.secret},
	} {
		if args[0] == "cluster" { // while no other node requests the site
			time.Sleep(11 * time.Second) // the lease of the site ends
		} else {
			w.stop("a")
			time.Sleep(11 * time.Second) // the lease of the node ends
		}
		if out, err := w.command(args...); err != nil && args[0] == "run-now" {
			t.Fatalf("%v\n%s", err, out)
		}
		if args[0] == "run-now" {
			w.start("a")
			w.says("a", "part of the cluster", time.Minute)
		}
	}
	w.start("s")
	w.says("s", "never in this depot from here", 2*time.Minute)
	w.stop("s")
	out, err := w.command("cluster", "pull", "s0", "--discard", "--state", strange, "--depot", w.depot, "--jobs",
		filepath.Join(w.dir, "jobs"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.start("s")
	w.allRun("a node with another mirror of a site, which was given up")
	w.finish()
}

// TestClusterMoved moves mirrors of a machine by itself into a cluster, with one command, and out of it
// again: all versions and the run log are there, and what the cluster made follows. Keepers and nodes encrypt
// what they send.
func TestClusterMoved(t *testing.T) {
	long(t, "two minutes")
	names, _ := certtest.Put(t, t.TempDir(), 1)
	cert, key, _ := strings.Cut(names, ",")
	w := newClusterWorld(t, 3, 1, "", cluster.EnvCA+"="+cert)
	w.servers = strings.ReplaceAll(w.servers, "nats://", "tls://")
	w.args["a"] = append(w.args["a"], "--keeper-cert", cert, "--keeper-key", key)
	w.args["b"] = []string{"--depot-on-demand"}
	here := func(name string, args ...string) string {
		t.Helper()
		args = append(args, "--state", filepath.Join(w.dir, name), "--jobs", filepath.Join(w.dir, "jobs"))
		out, err := w.command(args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	versions := func(name, site string) (all []int) {
		t.Helper()
		var list []struct{ Number int }
		text := here(name, "status", site, "--versions", "--json")
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, v := range list {
			all = append(all, v.Number)
		}
		slices.Sort(all)
		return all
	}
	for i := range w.sites {
		for range 2 {
			here("before", "run-now", fmt.Sprintf("s%d", i))
		}
	}
	here("before", "console", "token", "add", "program")
	here("before", "cluster", "push", "--depot", w.depot)
	time.Sleep(11 * time.Second) // the gap to the sites
	w.start("a", "b")
	w.allRun("in the cluster")
	if s, err := w.status(); err != nil || len(s.Nodes) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	w.stop("a", "b")
	made := w.versions()
	here("after", "cluster", "pull", "--depot", w.depot)
	for i := range w.sites {
		name := fmt.Sprintf("s%d", i)
		before, after := versions("before", name), versions("after", name)
		if len(before) != 2 || len(after) < 3 || after[len(after)-1] != made[name] ||
			!slices.Equal(after[:2], before) {
			t.Errorf("%s: %v before, %v after, %d in the cluster", name, before, after, made[name])
		}
		if runs := here("after", "status", name, "--runs", "9"); strings.Count(runs, "complete") < 3 {
			t.Errorf("%s: runs are missing:\n%s", name, runs)
		}
	}
	// The node that leaves older versions in the depot becomes a machine by itself as well.
	here("b", "cluster", "pull", "--depot", w.depot)
	if err := os.Rename(filepath.Join(w.dir, "depot"), filepath.Join(w.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	for i := range w.sites {
		name := fmt.Sprintf("s%d", i)
		here("b", "verify", name)
		here("b", "export", name, "--format", "wacz", "--all-versions", "-o", filepath.Join(w.dir, name+".wacz"))
		left := filepath.Join(w.dir, "b", "sites", name, away.FileName)
		if _, err := os.Lstat(left); err == nil {
			t.Errorf("there is %s still", left)
		}
	}
	if err := os.Rename(filepath.Join(w.dir, "gone"), filepath.Join(w.dir, "depot")); err != nil {
		t.Fatal(err)
	}
	if tokens := here("after", "console", "token", "list"); !strings.Contains(tokens, "program") {
		t.Errorf("no token: %s", tokens)
	}
	w.judge()
}
