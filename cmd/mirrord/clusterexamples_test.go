// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/testing/objectstest"
)

// versitygw is the S3 server of the examples.
const versitygw = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// TestClusterExampleStart runs the script of the documentation as it is written, with the S3 server that it
// names, which the go command fetches; three sites are mirrored, a node is killed, and the others continue.
func TestClusterExampleStart(t *testing.T) {
	long(t, "three minutes, and six to compile an S3 server")
	server := os.Getenv("VERSITYGW")
	if server == "" {
		bin := t.TempDir()
		cmd := exec.Command("go", "install", versitygw)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go install %s: %v\n%s\nOr build it elsewhere and name it in VERSITYGW", versitygw, err, out)
		}
		server = filepath.Join(bin, "versitygw")
	}
	const net = "127.0.61"
	dir := t.TempDir()
	w := &clusterWorld{
		t:      t,
		dir:    dir,
		sites:  3,
		depot:  "s3://mirrord",
		secret: filepath.Join(dir, "secret"),
		began:  time.Now(),
	}
	w.visits = serveSites(t, filepath.Join(dir, "jobs.d"), w.sites)
	cmd := exec.Command(filepath.Join(packaging, "cluster", "start"), dir)
	cmd.Env = append(os.Environ(), "NET="+net, "VERSITYGW="+server)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		w.end()
	})
	line := make([]byte, 4096)
	n, err := io.ReadAtLeast(said, line, 10)
	settings := strings.Fields(string(line[:n]))
	if err != nil || len(settings) < 4 || settings[len(settings)-1] != "status" {
		t.Fatalf("it says %q: %v", line[:n], err)
	}
	key, err := os.ReadFile(w.secret)
	if err != nil {
		t.Fatal(err)
	}
	w.servers = strings.TrimPrefix(settings[0], "MIRRORD_CLUSTER=")
	w.env = []string{"AWS_ENDPOINT_URL=http://" + net + ".1:7070", "AWS_ACCESS_KEY_ID=mirrord",
		"AWS_SECRET_ACCESS_KEY=" + string(key)}
	w.commits = watchCommits(t, w.depot, w.lookup)
	w.allRun("at first")
	by, ok, err := env.DaemonOf(filepath.Join(dir, "n2"))
	if err != nil || !ok {
		t.Fatalf("%+v, %v", by, err)
	}
	if err := syscall.Kill(by.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.allRun("a node and keeper killed")
	if s, err := w.status(); err != nil || len(s.Keepers) != 3 || len(s.Nodes) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	w.judge()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("it ends with %v", err)
	}
}

// TestClusterExampleFiles runs the nodes of compose.yaml and of the units of systemd as these files say, with
// addresses of this machine instead of the services' names, and directories of the test instead of the
// system's; the S3 server is one in this process. One is killed, and the others continue.
func TestClusterExampleFiles(t *testing.T) {
	long(t, "four minutes")
	for i, file := range []string{"compose.yaml", "systemd"} {
		t.Run(file, func(t *testing.T) {
			net := fmt.Sprintf("127.0.%d.", 62+i)
			endpoint := objectstest.ServeBucket(t, "mirrord", nil)
			w := newClusterWorld(t, 3, 3, "s3://mirrord", "AWS_ENDPOINT_URL="+endpoint, "AWS_ACCESS_KEY_ID=mirrord",
				"AWS_SECRET_ACCESS_KEY=0123456789abcdef0123")
			var nodes []exampleProcess
			var of *strings.Replacer
			switch file {
			case "compose.yaml":
				nodes = composed(t)
				words := []string{" /jobs", " " + w.dir + "/jobs", "0.0.0.0:9180", "127.0.0.1:0"}
				for k, name := range []string{"a", "b", "c"} {
					for _, before := range []string{" ", ",", "//"} {
						words = append(words, before+name+":", fmt.Sprintf("%s%s%d:", before, net, k+1))
					}
				}
				of = strings.NewReplacer(words...)
			case "systemd":
				nodes = started(t)
				of = strings.NewReplacer(" /etc/mirrord/jobs.d", " "+w.dir+"/jobs", "/var/lib/", w.dir+"/",
					"${CREDENTIALS_DIRECTORY}/cluster.secret", w.secret, "127.0.0.", net)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for _, n := range nodes {
				args := strings.Fields(of.Replace(" " + strings.Join(n.args, " ")))
				for k, a := range args {
					if a == "/state" {
						args[k] = filepath.Join(w.dir, n.name)
					}
				}
				cmd := exec.CommandContext(ctx, "mirrord", args...)
				cmd.Env = os.Environ()
				for name, value := range n.env {
					if !strings.HasPrefix(name, "AWS_") && name != cluster.EnvSecret {
						cmd.Env = append(cmd.Env, name+"="+of.Replace(" " + value)[1:])
					}
				}
				cmd.Env = append(append(cmd.Env, w.env...), cluster.EnvSecret+"="+w.secret)
				log, err := os.Create(w.log(n.name))
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stderr = log
				err = cmd.Start()
				log.Close()
				if err != nil {
					t.Fatal(err)
				}
				w.running[n.name] = cmd
				w.servers = of.Replace(" " + n.env[cluster.EnvCluster])[1:]
			}
			w.allRun("at first")
			w.signal(syscall.SIGKILL, nodes[1].name)
			w.allRun("a node and keeper killed")
			w.finish()
		})
	}
}
