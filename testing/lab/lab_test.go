// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mirrord/testing/mirrortest"
)

const small = "../../replay/testdata/small.history.tsv"

// runLab runs one command line.
func runLab(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	l := &lab{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
	code = l.run(t.Context(), args)
	return code, stdout.String(), stderr.String()
}

// said is a command line, and its result.
type said struct {
	args string
	code int
	want string // a regular expression: of the output, or for a code other than 0 of the error
}

func (s said) check(t *testing.T) {
	t.Helper()
	code, out, errs := runLab(t, strings.Fields(s.args)...)
	if code != 0 {
		out = errs
	}
	if code != s.code || !regexp.MustCompile("(?m)"+s.want).MatchString(out) {
		t.Errorf("%s: exit code %d, want %d; %q is not in\n%s%s", s.args, code, s.code, s.want, out, errs)
	}
}

func TestReplay(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	for _, s := range []said{
		{"--policy near --alpha 0 --beta 0.3 --gamma 0 --min-conf 1 --zero strict --expire 2 --train 3", 0,
			"^small: near after 3 full syncs\n(?s:.*)^ +3  2026-01-26 "},
		{"--policy near --train 3 --structural --json", 0, `"structural": true`},
		{"--budget 0.5 --train 2 --json", 0, `"train": 2,\n +"budget": 0.5`},
		{"--price-mb 0.1 --train 2 --json", 0, `"price": 0.001,\n +"price_mb": 0.1`},
		{"--price 0 --late 12h --train 2 --json", 0, `"price": 0,\n +"late_hours": 12`},
		{"--policy roundrobin --budget 0.3 --train 4", 0, "^ +small +4 "},
		{"--policy full --train 3 --experiments", 0, "^ +5  1 +nothing  1.000  0.773  0.820  0.000 +1$"},
		{"--policy full --train 3 --experiments --json", 0, `"vary_k": \[\](?s:.*)"setting": "strict"`},
		{"--policy roundrobin --train 4", 2, "--budget 0"},
		{"--policy full --budget 0.3", 2, "--budget is for --policy adaptive and roundrobin"},
		{"--policy best", 2, "want full, near or adaptive"},
		{"--policy near --alpha 1.5", 2, "alpha .* between 0 and 1"},
		{"--policy near --zero sometimes", 2, "strict, zero or never"},
		{"--policy near --expire -1", 2, "--expire"},
		{"--policy near --price 0.1", 2, "--price is for --policy adaptive"},
		{"--alpha 0.1", 2, "--alpha is for --policy near"},
		{"--price -1", 2, "--price"},
		{"--price-mb -1", 2, "--price-mb"},
		{"--max-skip -1", 2, "--max-skip"},
		{"--late never", 2, "--late"},
		{"--late 0s", 2, "--late"},
		{"--budget 1.5", 2, "--budget"},
		{"--train 0", 2, "--train"},
		{"", 1, "8 versions, and the first 20 .* train on 7 versions or less"},
		{"nosuch --train 2", 1, "nosuch"},
	} {
		s.args = "replay " + small + " " + s.args
		s.check(t)
	}
	said{"replay", 2, "arg"}.check(t)
}

// A drawing of one site has its directories, one of several has none.
func TestReplayPlot(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", t.TempDir())
	name := filepath.Join(t.TempDir(), "a.svg")
	said{"replay " + small + " --alpha 2 --plot " + name, 2, "--alpha"}.check(t)
	if _, err := os.Stat(name); err == nil {
		t.Error("wrong usage leaves a drawing")
	}
	for args, has := range map[string]bool{small: true, small + " " + small: false} {
		said{"replay " + args + " --train 3 --plot " + name, 0, "small"}.check(t)
		if svg := readSVG(t, name); strings.Contains(svg, "docs/</text>") != has ||
			strings.Contains(svg, "2 sites") == has {
			t.Errorf("%s: %s", args, svg)
		}
	}
}

func readSVG(t *testing.T, name string) string {
	t.Helper()
	svg, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil {
		t.Errorf("%s: %v in %.200s", name, err, svg)
	}
	return string(svg)
}

func TestReplicas(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("STATE_DIRECTORY", filepath.Join(dir, "state"))
	crawl, empty := filepath.Join(dir, "crawl"), t.TempDir()
	for _, host := range []string{"a.test", "b.test"} {
		at := filepath.Join(crawl, host, "doc")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			page := "<p>" + mirrortest.Words(uint32(i+1), 60)
			if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("p%d.html", i)), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	plot, graph := filepath.Join(dir, "plot.svg"), filepath.Join(dir, "graph.svg")
	said{"replicas " + crawl + " --paper --plot " + plot + " --graph " + graph, 0,
		"1 collection in several places(?s:.*)a.test/doc/"}.check(t)
	for _, name := range []string{plot, graph} {
		if svg := readSVG(t, name); !strings.Contains(svg, "a.test/") {
			t.Errorf("%s: %.200s", name, svg)
		}
	}
	var urls strings.Builder
	urls.WriteString("nonsense\n")
	for i := range 150 {
		for _, host := range []string{"www.a.test", "mirror.b.test"} {
			fmt.Fprintf(&urls, "http://%s/area%c/topic%c/file%d.html\n", host, 'a'+i%5, 'f'+i%7, i)
		}
	}
	list := filepath.Join(dir, "urls.txt")
	if err := os.WriteFile(list, []byte(urls.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runLab(t, "replicas", "--urls", list, "--paper", "--json")
	var got struct {
		BadLines int `json:"bad_lines"`
		Pairs    []struct{ Host1, Host2 string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || len(got.Pairs) != 1 ||
		got.Pairs[0].Host1 != "mirror.b.test" || got.BadLines != 1 {
		t.Errorf("exit code %d, %v: %s %s", code, err, out, errs)
	}
	for _, s := range []said{
		{"--urls " + list, 0, "1 bad line; 1 candidate pair"},
		{"--verify --jobs " + empty + " --state " + empty, 0, "nothing to test: no job names alternates"},
		{"--urls", 2, "at least one list"},
		{"--urls x --plot y.svg", 2, "leave out --urls"},
		{"--verify --graph y.svg", 2, "--verify"},
		{"--cluster 0", 2, "--cluster"},
		{"--memory much", 2, "--memory"},
		{"--set a=b", 2, "--set"},
		{filepath.Join(empty, "missing"), 1, "missing"},
		{empty + " --graph " + filepath.Join(empty, "x.svg"), 1, "collection 1: there are 0"},
	} {
		s.args = "replicas " + s.args
		s.check(t)
	}
}

func TestGolden(t *testing.T) {
	const near = "neargolden/testdata/golden.json"
	text, err := os.ReadFile(near)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) string {
		name := filepath.Join(t.TempDir(), "golden.json")
		if err := os.WriteFile(name, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	wrong := write(strings.Replace(string(text), `"n1": 2`, `"n1": 1`, 1))
	for _, s := range []said{
		{"near-golden " + near, 0, "^[0-9]+ cases, [0-9]+ values, 0 other than expected$"},
		{"near-golden --json " + near, 0, `"problems": \[\]`},
		{"near-golden " + wrong, 1, "values are other than expected"},
		{"near-golden " + small, 1, "not a file of expected values"},
		{"near-golden", 2, "arg"},
		{"replica-golden " + write(`{"hash":[{"in":"","hex":"e3b0c44298fc1c14"}]}`), 0,
			"^1 cases, 1 values, 0 other than expected$"},
		{"replica-golden " + write(`{"hash":[{"in":"","hex":"e3b0"}]}`), 1, "1 values are other"},
		{"replica-golden " + write("{}"), 1, "no cases"},
		{"plan x", 1, "plot"},
		{"plan x --plot y.svg", 2, "no directory of job files"},
	} {
		s.check(t)
	}
}
