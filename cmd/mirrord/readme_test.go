// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// readmeLines are the commands in the README's blocks of commands, without comments, as .ci/bare takes them.
func readmeLines(t *testing.T) (lines []string) {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	comment, inside := regexp.MustCompile(`  *#.*`), false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside:
			if line = comment.ReplaceAllString(line, ""); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// oneServer is a network in which every name resolves to one server.
type oneServer struct{ *httptest.Server }

func (oneServer) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (s oneServer) Connect(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.Listener.Addr().String())
}

// The README's commands, in their order: those of mirrord run, over http instead of https; of the others the
// files that they name are there. .ci/bare types all of them on a machine.
func TestReadme(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/docs/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><a href=/docs/>on</a>", r.URL.Path)
	}))
	defer srv.Close()
	under := t.TempDir()
	for _, d := range []string{cli.SystemJobs, cli.SystemState} { // what the package installs
		if err := os.MkdirAll(under+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lines := readmeLines(t)
	t.Chdir(t.TempDir())
	there := func(name string) {
		t.Helper()
		if found, err := filepath.Glob(filepath.Join(repo, name)); err != nil || len(found) == 0 {
			t.Errorf("the README names %s, which is not there", name)
		}
	}
	ran := 0
	for _, line := range lines {
		for command := range strings.SplitSeq(line, " && ") {
			words := strings.Fields(strings.TrimPrefix(command, "sudo "))
			switch strings.TrimPrefix(words[0], "./") {
			case "mirrord":
				if words[1] == "open" { // it needs the daemon that systemd has started: .ci/bare types it
					continue
				}
				ran++
				typed(t, oneServer{srv}, under, words[1:])
			case "cp":
				there(words[1])
				data, err := os.ReadFile(filepath.Join(repo, words[1]))
				if err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(string(data), "https://", "http://")
				text = regexp.MustCompile(`(?m)^delay .*`).ReplaceAllString(text, `delay = "0s"`)
				put(t, filepath.Join(under, words[2]), filepath.Base(words[1]), text)
			case "systemctl":
				there("packaging/" + words[len(words)-1] + ".service")
			case "apt":
				there("packaging/nfpm.yaml")
			case "make":
				makes(t, repo, words[1:])
			case "go":
				there(words[2])
			case ".ci/run":
				there(".ci/run")
			case "ln":
			default:
				t.Errorf("the README has a command that this test does not know: %s", command)
			}
		}
	}
	if ran < 7 {
		t.Errorf("%d commands of mirrord in %q", ran, lines)
	}
	for _, name := range []string{"www.example.org/docs/index.html", "docs.phm", "samba.phm"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// typed runs a command of mirrord.
func typed(t *testing.T, to oneServer, under string, args []string) {
	t.Helper()
	for i := range args {
		args[i] = strings.Replace(args[i], "https://", "http://", 1)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &out,
		Stderr:    &errs,
		LookupEnv: func(string) (string, bool) { return "", false },
		Network:   to,
		Under:     under,
		Root:      true,
	}, args)
	if code != cli.ExitOK {
		t.Errorf("mirrord %s: exit code %d: %s%s", strings.Join(args, " "), code, &out, &errs)
	}
}

// makes wants the targets in the Makefile.
func makes(t *testing.T, repo string, targets []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if strings.Contains(target, "=") {
			continue
		}
		if !strings.Contains(string(data), "\n"+target+":") {
			t.Errorf("the README names the target %s", target)
		}
	}
}
