// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/cmd/mirrord/daemon"
	"mirrord/internal/version"
)

// exampleProcess is a process of an example of a cluster, as its file says it.
type exampleProcess struct {
	name string
	args []string // behind the program's name
	env  map[string]string
}

// composed reads the processes of compose.yaml that run mirrord.
func composed(t *testing.T) (nodes []exampleProcess) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(packaging, "cluster", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image, Command string
			Environment    map[string]string
			Volumes        []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := file.Volumes[from]; !ok && !strings.HasPrefix(from, "./") {
				t.Errorf("service %s: there is no volume %s", name, from)
			}
		}
		if tag, ok := strings.CutPrefix(s.Image, "mirrord:"); ok {
			if tag != version.Number {
				t.Errorf("service %s has the image of version %s, and this is %s", name, tag, version.Number)
			}
			nodes = append(nodes, exampleProcess{name, strings.Fields(s.Command), s.Environment})
		}
	}
	slices.SortFunc(nodes, func(a, b exampleProcess) int { return strings.Compare(a.name, b.name) })
	return nodes
}

// started reads the three nodes that mirrord-cluster.target starts.
func started(t *testing.T) (nodes []exampleProcess) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(packaging, "cluster", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`).FindAllStringSubmatch(read("cluster.env"), -1) {
		env[m[1]] = m[2]
	}
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/mirrord (.*)$`).
		FindStringSubmatch(read("mirrord-node@.service"))
	if command == nil {
		t.Fatal("mirrord-node@.service starts no mirrord")
	}
	wanted := regexp.MustCompile(`mirrord-node@([0-9])\.service`)
	for _, m := range wanted.FindAllStringSubmatch(read("mirrord-cluster.target"), -1) {
		args := strings.Fields(strings.ReplaceAll(command[1], "%i", m[1]))
		nodes = append(nodes, exampleProcess{m[1], args, env})
	}
	return nodes
}

// The examples of clusters start three nodes with flags that there are, each of them a keeper that the others
// join, over one depot.
func TestClusterExamples(t *testing.T) {
	for file, nodes := range map[string][]exampleProcess{"compose.yaml": composed(t), "systemd": started(t)} {
		var f cluster.NodeFlags
		keepers, routes := map[string]bool{}, map[string]bool{}
		for _, n := range nodes {
			cmd := daemon.Command(new(cli.CLI))
			cmd.Flags().AddFlagSet(rootCommand(new(cli.CLI)).PersistentFlags())
			if len(n.args) == 0 || n.args[0] != "daemon" || cmd.ParseFlags(n.args[1:]) != nil ||
				cmd.Flags().NArg() > 0 {
				t.Errorf("%s, %s: %q", file, n.name, n.args)
				continue
			}
			get := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
			keepers["nats://"+get("keeper")], routes[get("keeper-routes")] = true, true
			for _, url := range strings.Split(n.env[cluster.EnvCluster], ",") {
				if f.Servers = append(f.Servers, url); !strings.HasPrefix(url, "nats://") {
					t.Errorf("%s: %s", file, url)
				}
			}
			f.Keeper.Peers = append(f.Keeper.Peers, strings.Split(strings.Trim(get("join"), "[]"), ",")...)
			if get("keepers") != "3" || n.env["MIRRORD_DEPOT"] != "s3://mirrord" || n.env["AWS_ENDPOINT_URL"] == "" {
				t.Errorf("%s, %s: %q, %v", file, n.name, n.args, n.env)
			}
		}
		for _, url := range f.Servers {
			if !keepers[url] {
				t.Errorf("%s: no keeper is at %s", file, url)
			}
		}
		for _, address := range f.Keeper.Peers {
			if !routes[address] {
				t.Errorf("%s: no keeper is reached at %s", file, address)
			}
		}
		if len(nodes) != 3 || len(keepers) != 3 || len(routes) != 3 {
			t.Errorf("%s: %d nodes, %v, %v", file, len(nodes), keepers, routes)
		}
	}
	script := filepath.Join(packaging, "cluster", "start")
	if out, err := exec.Command("/bin/sh", "-n", script).CombinedOutput(); err != nil {
		t.Errorf("start: %s", out)
	}
}
