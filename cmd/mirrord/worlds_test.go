// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
)

// worldSite is a mirror of job a with two versions, and the site that it is of.
type worldSite struct {
	*httptest.Server
	jobs, state string
	bin         string // mirrord, for all users
	version     atomic.Int64
}

func newWorldSite(t *testing.T) *worldSite {
	t.Helper()
	base, err := os.MkdirTemp("", "m") // names of sockets are short, and other users get there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &worldSite{
		jobs:  filepath.Join(base, "jobs"),
		state: filepath.Join(base, "state"),
		bin:   filepath.Join(base, "mirrord"),
	}
	err = os.Chmod(base, 0o755)
	for _, d := range []string{s.jobs, s.state} {
		err = errors.Join(err, os.Mkdir(d, 0o755))
	}
	if err = errors.Join(err, linkOrCopy(os.Args[0], s.bin)); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/é.html" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<title>Ünïcode – %d</title><a href=/é.html>é</a>", s.version.Load())
	}))
	t.Cleanup(s.Close)
	put(t, s.jobs, "a.toml", fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\n", s.URL+"/"))
	return s
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return os.Chmod(to, 0o755)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// twice publishes two versions, as the user of the command.
func (s *worldSite) twice(t *testing.T, run func(args ...string) (int, string)) {
	t.Helper()
	for range 2 {
		s.version.Add(1)
		if code, out := run("run-now", "a"); code != cli.ExitOK {
			t.Fatalf("%d: %s", code, out)
		}
	}
}

// args are those of a command on the mirror.
func (s *worldSite) args(line string) []string {
	words := strings.Fields(strings.ReplaceAll(line, "URL", s.URL+"/"))
	return append(words, "--jobs", s.jobs, "--state", s.state)
}

// inProcess runs a command in this process.
func (s *worldSite) inProcess(t *testing.T, line string) (int, string) {
	t.Helper()
	code, out, errs := runArgs(t, nil, s.args(line)...)
	return code, out + errs
}

// stopProcess stops a process, and returns once all its threads stand still: on a busy machine some of them
// continue for a while.
func stopProcess(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	moves := func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid))
		if err != nil || len(threads) == 0 {
			t.Fatal(threads, err)
		}
		return slices.ContainsFunc(threads, func(name string) bool {
			stat, err := os.ReadFile(name)
			_, state, _ := strings.Cut(string(stat), ") ")
			if strings.HasPrefix(state, "Z ") {
				t.Fatalf("process %d has ended", p.Pid)
			}
			return err == nil && !strings.HasPrefix(state, "T ")
		})
	}
	for ; moves(); time.Sleep(time.Millisecond) {
	}
}

// spoken is what a command must come to.
type spoken struct {
	code int
	text string // regular expression
}

// ordinary is what the commands come to where nothing is in their way.
func ordinary() map[string]spoken {
	return map[string]spoken{
		"status":              {cli.ExitOK, `(?m)^a +ok`},
		"status a":            {cli.ExitOK, `^a: ok\n`},
		"run-now a":           {cli.ExitOK, `^a: (complete|no change found)`},
		"plan a":              {cli.ExitOK, `^a: run \d+ would request \d+ of the \d+`},
		"explain a URL":       {cli.ExitOK, `\n  mirrored\n`},
		"status a --versions": {cli.ExitOK, `\n2 .*current`},
		"diff a":              {cli.ExitOK, `from version 1 to 2: 0 added, 2 changed`},
		"accept a":            {cli.ExitError, `^mirrord: accept a: nothing is held for review; the last run was complete\n$`},
	}
}

// with is ordinary with other expectations of some commands.
func with(other map[string]spoken) map[string]spoken {
	all := ordinary()
	for line, want := range other {
		all[line] = want
	}
	return all
}

// checkSpoken runs all commands side by side and compares.
func checkSpoken(t *testing.T, all map[string]spoken, run func(line string) (int, string)) {
	t.Helper()
	var wg sync.WaitGroup
	for line, want := range all {
		wg.Go(func() {
			code, out := run(line)
			if code != want.code || !regexp.MustCompile(want.text).MatchString(out) {
				t.Errorf("mirrord %s: exit code %d, want %d with %q:\n%s", line, code, want.code, want.text, out)
			}
			for _, bad := range []string{"panic", "goroutine", "context deadline", "<nil>", "%!"} {
				if strings.Contains(out, bad) {
					t.Errorf("mirrord %s says %q:\n%s", line, bad, out)
				}
			}
		})
	}
	wg.Wait()
}

// Every command beside a daemon that is down, lives, is stopped, or is of an older version.
func TestCommandsBesideDaemons(t *testing.T) {
	s := newWorldSite(t)
	run := func(line string) (int, string) { return s.inProcess(t, line) }
	s.twice(t, func(args ...string) (int, string) { return run(strings.Join(args, " ")) })
	silent := spoken{cli.ExitError, `^mirrord: the daemon does not answer; end its process and start it again: [^\n]*\n$`}
	disk := `the daemon does not answer; this is what the disk knows`

	t.Run("down", func(t *testing.T) {
		one := ordinary()
		delete(one, "run-now a") // while it has the site, accept is refused
		checkSpoken(t, one, run)
		checkSpoken(t, map[string]spoken{"run-now a": ordinary()["run-now a"]}, run)
	})
	t.Run("alive, then stopped", func(t *testing.T) {
		ready := filepath.Join(filepath.Dir(s.bin), "n")
		told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ready, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer told.Close()
		cmd := exec.Command(s.bin, s.args("daemon --spread 0")...)
		cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+ready)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
		d := &testDaemon{
			t:     t,
			jobs:  s.jobs,
			state: s.state,
			told:  told,
		}
		d.hear("READY=1")
		one := ordinary()
		delete(one, "run-now a")
		checkSpoken(t, one, run)
		checkSpoken(t, map[string]spoken{"run-now a": ordinary()["run-now a"]}, run)
		stopProcess(t, cmd.Process)
		checkSpoken(t, with(map[string]spoken{
			"status":         {cli.ExitOK, `(?s)\na +ok.*` + disk},
			"status a":       {cli.ExitOK, `(?s)^a: ok\n.*` + disk},
			"run-now a":      silent,
			"accept a":       silent,
			"cancel a":       silent,
			"pause a":        silent,
			"resume a":       silent,
			"daemon reload":  silent,
			"rename a b":     silent,
			"remove a --yes": silent,
			"daemon health":  silent,
			"verify a":       {cli.ExitOK, `a: `},
			"status --json":  {cli.ExitOK, `(?s)"job": "a".*` + disk},
		}), run)
	})
	t.Run("of an older version", func(t *testing.T) {
		socket := filepath.Join(filepath.Dir(s.bin), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		older := httptest.NewUnstartedServer(http.HandlerFunc(olderDaemon))
		older.Listener.Close()
		older.Listener = l
		older.Start()
		defer older.Close()
		lock, err := env.TakeState(s.state, env.Owner{PID: os.Getpid(), Socket: socket}, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		put(t, s.state, "daemon.lock", fmt.Sprintf(`{"pid": %d, "socket": %q}`, os.Getpid(), socket))
		// it could not read what they write
		other := spoken{cli.ExitError, `^mirrord: the daemon [^\n]* is of an older version, [^\n]*restart mirrord\n$`}
		checkSpoken(t, with(map[string]spoken{
			"rollback a":                     other,
			"gc":                             other,
			"rename a b":                     other,
			"remove a --yes":                 other,
			"forget a URLx --reason x --yes": other,
			"accept a":                       {cli.ExitError, `^mirrord: nothing to accept\n$`},
			"daemon reload":                  {cli.ExitOK, `1 job is in force`},
			"daemon health":                  {cli.ExitError, `the daemon answers 404`},
		}), run)
	})
}

// olderDaemon answers as a daemon of an older version: with fewer fields, and not to every question.
func olderDaemon(w http.ResponseWriter, r *http.Request) {
	const known = `{"job": "a", "state": "ok", "activity": "idle", "version": 2}`
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/status":
		fmt.Fprintf(w, `{"daemon": {"pid": 1}, "jobs": [%s]}`, known)
	case "GET /v1/jobs/a":
		fmt.Fprint(w, known)
	case "POST /v1/jobs/a/run":
		body, err := io.ReadAll(r.Body)
		if err == nil && strings.Contains(string(body), `"accept":true`) {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"code": "conflict", "error": "nothing to accept"}`)
			return
		}
		fmt.Fprint(w, `{"job": {"job": "a", "activity": "running", "progress": {"phase": "retrieving", "done": 1}}}`)
		fmt.Fprint(w, `{"run": {"verdict": "complete", "summary": {"job": "a", "verdict": "complete", "version": 2}}}`)
	case "POST /v1/reload":
		fmt.Fprint(w, `{"jobs": 1}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"code": "not_found", "error": "no such thing"}`)
	}
}

// worldUser is who runs a command.
type worldUser struct {
	name     string
	uid, gid uint32
	groups   []uint32
}

// as runs a command in a process of a user.
func (s *worldSite) as(u worldUser, line string) (int, string) {
	cmd := exec.Command(s.bin, s.args(line)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	if os.Geteuid() == 0 { // others may not become another user
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
			Uid:    u.uid,
			Gid:    u.gid,
			Groups: u.groups,
		}}
	}
	out, err := cmd.CombinedOutput()
	return exitOf(err), string(out)
}

func exitOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return cli.ExitOK
}

// Every command as root, as the owner of the mirrors, in their group, and as another user. Who may not is
// told what to do, in one line.
func TestCommandsAsUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const owner, other, stranger = 61234, 61235, 65534
	s := newWorldSite(t)
	if err := os.Chown(s.state, owner, owner); err != nil {
		t.Fatal(err)
	}
	root, own := worldUser{name: "root"}, worldUser{name: "owner", uid: owner, gid: owner}
	s.twice(t, func(args ...string) (int, string) { return s.as(own, strings.Join(args, " ")) })
	refused := spoken{cli.ExitError, `^mirrord: [^\n]*(as root|sudo)[^\n]*\n$`}
	runs := spoken{cli.ExitError, `^mirrord: the records of runs cannot be read: [^\n]*user 61234: ` +
		`run this as root \(sudo\)[^\n]*while it runs \(sudo systemctl start mirrord\)\n$`}
	reads := with(map[string]spoken{
		"status":    runs, // they are the owner's
		"status a":  runs,
		"run-now a": refused,
		"diff a":    {cli.ExitOK, `(?s)only the owner of the state may read.*from version 1 to 2: |2: .*owner of the state`},
		"verify a":  {cli.ExitOK, `all is well`},
		"accept a":  refused,
	})
	for _, c := range []struct {
		worldUser
		want map[string]spoken
	}{
		{root, ordinary()},
		{own, ordinary()},
		{worldUser{"in the group", other, other, []uint32{owner}}, reads},
		{worldUser{"stranger", stranger, stranger, nil}, map[string]spoken{
			"status":              refused,
			"status a":            refused,
			"run-now a":           refused,
			"plan a":              refused,
			"explain a URL":       refused,
			"status a --versions": refused,
			"verify a":            refused,
			"rename a b":          refused,
			"diff a":              refused,
			"accept a":            refused,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for line, want := range c.want { // one after the other: a run has the site for itself
				checkSpoken(t, map[string]spoken{line: want}, func(line string) (int, string) {
					return s.as(c.worldUser, line)
				})
			}
		})
	}
	if err := filepath.Walk(s.state, func(path string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if sys, ok := fi.Sys().(*syscall.Stat_t); ok && sys.Uid != owner {
			t.Errorf("%s belongs to %d", path, sys.Uid)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// onTerminal runs a command on a terminal of some columns and returns what it wrote there.
func (s *worldSite) onTerminal(t *testing.T, columns uint16, env []string, line string) (int, string) {
	t.Helper()
	master, terminal := openTerminal(t, columns)
	cmd := exec.CommandContext(t.Context(), s.bin, s.args(line)...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "TERM=xterm"}, env...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, master); err != nil && !errors.Is(err, syscall.EIO) { // the end of a terminal
		t.Error(err)
	}
	master.Close()
	return exitOf(cmd.Wait()), strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// openTerminal opens a pseudo terminal.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	return master, terminal
}

// On a terminal nothing that is rewritten is wider than it, colours follow NO_COLOR, and a locale without
// UTF-8 gets ASCII. Without a terminal there is nothing of it.
func TestCommandsOnTerminals(t *testing.T) {
	s := newWorldSite(t)
	s.twice(t, func(args ...string) (int, string) { return s.inProcess(t, strings.Join(args, " ")) })
	const columns = 60
	colored := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, w := range []struct {
		name string
		env  []string
	}{
		{"UTF-8", []string{"LANG=C.UTF-8"}},
		{"no colours", []string{"LANG=C.UTF-8", "NO_COLOR=1"}},
		{"no UTF-8", []string{"LC_ALL=C"}},
	} {
		t.Run(w.name, func(t *testing.T) {
			for line, want := range ordinary() {
				code, out := s.onTerminal(t, columns, w.env, line)
				plain := colored.ReplaceAllString(out, "")
				drawn := strings.Split(plain, "\r\x1b[K")
				text := drawn[len(drawn)-1]
				for _, l := range drawn[:len(drawn)-1] {
					if n := len([]rune(l)); n >= columns {
						t.Errorf("%s: a line of %d characters: %q", line, n, l)
					}
				}
				if code != want.code || !regexp.MustCompile(want.text).MatchString(text) {
					t.Errorf("%s: exit code %d, want %d with %q:\n%q", line, code, want.code, want.text, out)
				}
				if (w.name == "no colours") && colored.MatchString(out) {
					t.Errorf("%s: colours: %q", line, out)
				}
				if (w.name == "no UTF-8") && !cli.IsASCII([]byte(out)) {
					t.Errorf("%s: not ASCII: %q", line, out)
				}
				if line == "status" {
					for row := range strings.Lines(text) {
						if n := len([]rune(strings.TrimSpace(row))); n > columns {
							t.Errorf("a row of %d characters: %q", n, row)
						}
					}
				}
			}
		})
	}
	me := worldUser{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	for line := range ordinary() {
		if _, out := s.as(me, line); strings.ContainsAny(out, "\r\x1b") {
			t.Errorf("without a terminal: %s: %q", line, out)
		}
	}
}
