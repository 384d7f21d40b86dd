// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/testing/mirrortest"
)

// writePages writes n pages under a directory, each of words of its own; two directories of the same seed
// have the same words.
func writePages(t *testing.T, dir string, n int, page func(i int, words string) string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.html", i)),
			[]byte(page(i, mirrortest.Words(uint32(i+1), 60))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplicasOfDirectory(t *testing.T) {
	dir := t.TempDir()
	plain := func(_ int, words string) string { return "<p>" + words }
	reformatted := func(_ int, words string) string {
		return "<html>\r\n<body>\r\n<div>" + strings.ReplaceAll(words, " ", "\r\n") + "</div>"
	}
	writePages(t, filepath.Join(dir, "a.test", "doc"), 20, plain)
	writePages(t, filepath.Join(dir, "b.test", "doc"), 20, reformatted)
	writePages(t, filepath.Join(dir, "c.test", "pub", "copy"), 12, plain)
	writePages(t, filepath.Join(dir, "d.test", "doc"), 20, func(i int, _ string) string {
		return fmt.Sprintf("<p>nothing of %d is said here", i*i)
	})
	if err := os.WriteFile(filepath.Join(dir, "a.test", "logo.png"), []byte("\x89PNG\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runArgs(t, nil, "replicas", dir, "--json")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var report replicas.Replicas
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Pages != 72 || report.Skipped != 1 || report.Bad != 0 {
		t.Errorf("%d pages, %d skipped, %d bad", report.Pages, report.Skipped, report.Bad)
	}
	if len(report.Hosts) != 1 || report.Hosts[0].Host1 != "a.test" || report.Hosts[0].Host2 != "b.test" ||
		report.Hosts[0].Level != "2" || !report.Hosts[0].Confident {
		t.Errorf("hosts %+v", report.Hosts)
	}
	if len(report.Clusters) != 1 || report.Clusters[0].Cardinality != 3 || report.Clusters[0].Size != 20 {
		t.Fatalf("clusters %+v", report.Clusters)
	}
	if got := report.Clusters[0].Copies[2]; !strings.HasPrefix(got.At, "c.test/") || got.Pages != 12 ||
		got.Share != 0.6 {
		t.Errorf("the partial copy: %+v", got)
	}
	_, out, _ = runArgs(t, nil, "replicas", dir)
	for _, want := range []string{
		"level 2  100% good  a.test b.test: either may stand for the other", "1 collection in several places",
		"60%  c.test/",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestReplicasOfURLs(t *testing.T) {
	list := filepath.Join(t.TempDir(), "urls.txt")
	var b strings.Builder
	b.WriteString("# a list\nnonsense\n")
	for i := range 150 {
		for _, host := range []string{"www.a.test", "mirror.b.test"} {
			fmt.Fprintf(&b, "http://%s/area%c/topic%c/file%d.html\n", host, 'a'+i%5, 'f'+i%7, i)
		}
		fmt.Fprintf(&b, "http://c.test/own/place/%d\n", i)
	}
	if err := os.WriteFile(list, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runArgs(t, nil, "replicas", "--urls", list)
	if code != cli.ExitOK || !strings.Contains(out, "450 addresses of 3 hosts, 1 bad line; 1 candidate pair") ||
		!strings.Contains(out, "mirror.b.test www.a.test") {
		t.Errorf("exit code %d: %s %s", code, out, errs)
	}
	if !strings.Contains(errs, "urls.txt:2: no http or https URL with a host: \"nonsense\"") {
		t.Errorf("bad line: %s", errs)
	}
	code, out, _ = runArgs(t, nil, "replicas", "--urls", list, "--json")
	var got struct {
		BadLines int `json:"bad_lines"`
		Pairs    []struct{ Host1, Host2 string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != cli.ExitOK || len(got.Pairs) != 1 ||
		got.Pairs[0].Host1 != "mirror.b.test" || got.BadLines != 1 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

func TestReplicasWrong(t *testing.T) {
	empty := t.TempDir()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--urls"}, cli.ExitUsage, "at least one list"},
		{[]string{"--graph", "y.svg"}, cli.ExitUsage, "go run ./testing/lab replicas"},
		{[]string{"--paper"}, cli.ExitUsage, "go run ./testing/lab replicas"},
		{[]string{"--method", "links"}, cli.ExitUsage, "go run ./testing/lab replicas"},
		{[]string{"--memory", "much"}, cli.ExitUsage, "--memory"},
		{[]string{"--memory", "0"}, cli.ExitUsage, "--memory"},
		{[]string{"--urls", filepath.Join(empty, "missing")}, cli.ExitError, "missing"},
		{[]string{filepath.Join(empty, "missing")}, cli.ExitError, "missing"},
	} {
		code, _, errs := runArgs(t, nil, append([]string{"replicas"}, tc.args...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%v: exit code %d, %q; want %d, %q", tc.args, code, errs, tc.code, tc.want)
		}
	}
	code, out, errs := runArgs(t, nil, "replicas", empty)
	if code != cli.ExitOK || !strings.Contains(out, "0 pages") {
		t.Errorf("an empty directory: exit code %d, %s %s", code, out, errs)
	}
}

// Two mirrors of one site that two servers have.
func TestReplicasOfState(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	var hosts []string
	for _, name := range []string{"one", "two"} {
		srv := httptest.NewServer(demosite.New())
		defer srv.Close()
		hosts = append(hosts, strings.TrimPrefix(srv.URL, "http://"))
		runMirror(t, state, name, srv.URL)
	}
	code, out, errs := runArgs(t, nil, "replicas", "--state", state, "--json")
	var report replicas.Replicas
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, errs)
	}
	slices.Sort(hosts)
	if len(report.Hosts) != 1 || report.Hosts[0].Host1 != hosts[0] || report.Hosts[0].Host2 != hosts[1] ||
		report.Hosts[0].Level > "3" || report.Bad != 0 {
		t.Errorf("%+v", report)
	}
	if len(report.Clusters) == 0 || report.Clusters[0].Cardinality != 2 {
		t.Errorf("clusters %+v", report.Clusters)
	}
	before, err := os.ReadDir(state)
	if err != nil {
		t.Fatal(err)
	}
	out = strings.Replace(out, `"kept": 0`, fmt.Sprintf(`"kept": %d`, report.Pages), 1) // from now on
	if code, small, errs := runArgs(t, nil, "replicas", "--state", state, "--json", "--memory",
		"1"); code != cli.ExitOK || small != out {
		t.Errorf("with little memory: exit code %d, %s: %s", code, errs, small)
	}
	if after, err := os.ReadDir(state); err != nil || len(after) != len(before) {
		t.Errorf("%v: left in the state: %v, before: %v", err, after, before)
	}
}

// runMirror runs the job of a site that a server on loopback has.
func runMirror(t *testing.T, state, name, url string) {
	t.Helper()
	jobs := t.TempDir()
	if err := os.WriteFile(filepath.Join(jobs, name+".toml"),
		[]byte("url = \""+url+"/\"\npolite.delay = \"0s\"\npolite.factor = 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runArgs(t, nil, "run-now", name, "--jobs", jobs, "--state", state); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
}
