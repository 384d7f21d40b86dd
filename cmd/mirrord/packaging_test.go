// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/daemon"
)

const packaging = "../../packaging"

// The services are confined as tightly as their work allows: systemd's own measure, 0 to 10, where 10 is no
// confinement.
func TestSandbox(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("systemd-analyze is missing: the exposure of the services was not measured")
		return
	}
	for _, unit := range []string{
		"mirrord.service", "mirrord-serve.service", "cluster/mirrord-node@.service",
		"cluster/mirrord-objects.service",
	} {
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager",
			filepath.Join(packaging, unit)).CombinedOutput()
		m := regexp.MustCompile(`Overall exposure level for [^:]*: ([0-9.]+)`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("%s: %v: %s", unit, err, out)
		}
		if v, err := strconv.ParseFloat(string(m[1]), 64); err != nil || v > 1.5 {
			t.Errorf("%s: exposure %s, want at most 1.5", unit, m[1])
		}
	}
}

// Every source file names the licence, as REUSE and the packages of distributions want it.
func TestLicenceOfSources(t *testing.T) {
	root := os.DirFS("../..")
	seen := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && ((strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci") ||
			d.Name() == "testdata" || d.Name() == "build" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		seen++
		if !strings.HasPrefix(string(data), "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s does not begin with // SPDX-License-Identifier: Apache-2.0", name)
		}
		return nil
	})
	if err != nil || seen < 300 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// What the package is made of is there, and its scripts are scripts.
func TestPackageContents(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(packaging, "nfpm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile(
		`(?m)^ *(?:- src|postinstall|preremove|postremove): (\S+)$`).FindAllSubmatch(data, -1) {
		if strings.HasPrefix(string(m[1]), "build/") {
			continue
		}
		list, err := filepath.Glob(filepath.Join("../..", string(m[1])))
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %v", m[1], err)
		}
		for _, f := range list {
			found++
			if strings.HasSuffix(f, ".sh") {
				if out, err := exec.Command("/bin/sh", "-n", f).CombinedOutput(); err != nil {
					t.Errorf("%s: %s", f, out)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d files", found)
	}
	unit, err := os.ReadFile(filepath.Join(packaging, "mirrord.socket"))
	if err != nil || !strings.Contains(string(unit), "ListenStream="+cli.SystemSocket+"\n") ||
		!strings.Contains(string(unit), "FileDescriptorName="+daemon.FDControl+"\n") {
		t.Errorf("mirrord.socket does not name its socket %s: %v", daemon.FDControl, err)
	}
}

// The documents have the same places in the package as here, so that their links and pictures are found.
func TestPackagedLinks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(packaging, "nfpm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{} // sources by their names in the package
	for _, m := range regexp.MustCompile(`(?m)^  - src: (\S+)\n    dst: (\S+)$`).FindAllStringSubmatch(string(data), -1) {
		list, err := filepath.Glob(filepath.Join("../..", m[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if name := m[2]; strings.HasSuffix(name, "/") {
				at[name+filepath.Base(f)] = f
			} else {
				at[name] = f
			}
		}
	}
	link, n := regexp.MustCompile(`\]\(([^):#\s]+)(?:#[^)\s]*)?\)`), 0
	for name, src := range at {
		if filepath.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			n++
			to := filepath.Join(filepath.Dir(name), m[1])
			if _, ok := at[to]; !ok {
				t.Errorf("%s links to %s, which is not in the package", name, to)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d links", n)
	}
}

// A command that finds no daemon, but the socket at which systemd starts it, is answered by that daemon.
// Where systemd no longer listens, the command continues without.
func TestSocketStartsTheDaemon(t *testing.T) {
	under, err := os.MkdirTemp("", "m") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(under)
	jobs, state := under+cli.SystemJobs, under+cli.SystemState
	for _, d := range []string{jobs, state, under + "/run"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, jobs, "a.toml", "url = \"http://127.0.0.1:1/\"\n")
	status := func() (code int, out string) {
		var stdout, stderr bytes.Buffer
		e := cli.Environ{
			Stdout:    &stdout,
			Stderr:    &stderr,
			LookupEnv: func(string) (string, bool) { return "", false },
			Under:     under,
			Root:      true,
		}
		code = run(t.Context(), e, []string{"status"})
		return code, stdout.String() + stderr.String()
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: under + cli.SystemSocket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	// systemd: the first connection, which stays for the daemon to accept, starts it
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec mirrord daemon --state "$1" --jobs "$2"`,
		"sh", state, jobs)
	ready := filepath.Join(under, "n")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ready, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=control", "NOTIFY_SOCKET="+ready)
	cmd.ExtraFiles = []*os.File{f}
	started := make(chan error, 1)
	go func() {
		err := error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, -1)
		}
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	code, out := status()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	d := &testDaemon{
		t:     t,
		jobs:  jobs,
		state: state,
		told:  told,
	}
	d.hear("READY=1")
	by, ok, err := env.DaemonOf(state)
	if code != cli.ExitOK || !strings.Contains(out, "new") || !ok {
		t.Errorf("%d, %q; daemon %+v, %v", code, out, by, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	f.Close()
	l.Close()
	if code, out := status(); code != cli.ExitOK || !strings.Contains(out, "new") {
		t.Errorf("without systemd: %d, %q", code, out)
	}
}

// A socket that systemd has opened is used, found by the commands, and left there.
func TestSocketActivation(t *testing.T) {
	dir, jobs := t.TempDir(), t.TempDir()
	socket, ready := filepath.Join(dir, "s"), filepath.Join(dir, "n")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ready, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec mirrord daemon --state "$1" --jobs "$2"`,
		"sh", dir, jobs)
	cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "LISTEN_FDNAMES=control", "NOTIFY_SOCKET="+ready)
	cmd.ExtraFiles = []*os.File{f}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	d := &testDaemon{
		t:     t,
		jobs:  jobs,
		state: dir,
		told:  told,
	}
	d.hear("READY=1")
	by, ok, err := env.DaemonOf(dir)
	if err != nil || !ok || by.Socket != socket || by.PID != cmd.Process.Pid {
		t.Errorf("%+v, %v, %v", by, ok, err)
	}
	d.do(cli.ExitOK, "0 jobs are in force", "daemon", "reload")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket is not ours to remove: %v", err)
	}
}
