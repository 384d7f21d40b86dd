package replica

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestGoldenURLs(t *testing.T) {
	var g struct {
		SplitURL []struct {
			HostPath []string `json:"host_path"`
			URL      string
		} `json:"split_url"`
		HostFeatures []struct {
			Features [][3]string
			Host     string
		} `json:"host_features"`
		PathFeatures []struct {
			Avoided      bool
			Depth, Index [][4]any
			Path         string
		} `json:"path_features"`
	}
	if !golden(t, &g) {
		return
	}
	for _, s := range g.SplitURL {
		host, path, err := SplitURL([]byte(s.URL))
		got := []string{string(host), string(path)}
		if err != nil {
			got = nil
		}
		if !slices.Equal(got, s.HostPath) {
			t.Errorf("%s: %q, want %q", s.URL, got, s.HostPath)
		}
	}
	for _, h := range g.HostFeatures {
		var got [][3]string
		for _, f := range HostFeatures(h.Host) {
			got = append(got, [3]string{"h", f.A, f.B})
		}
		slices.SortFunc(h.Features, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, h.Features) {
			t.Errorf("%s: %q, want %q", h.Host, got, h.Features)
		}
	}
	for _, p := range g.PathFeatures {
		for _, byIndex := range []bool{false, true} {
			features, avoided := PathFeatures(p.Path, StageOne{PositionIsIndex: byIndex})
			wanted := p.Depth
			if byIndex {
				wanted = p.Index
			}
			got, want := []string{}, []string{}
			for _, f := range features {
				got = append(got, fmt.Sprint("p ", f.A, " ", f.B, " ", f.Position))
			}
			for _, f := range wanted {
				for i := range 3 {
					f[i] = string(latin1Bytes(f[i].(string))) // the file has the bytes of UTF-8 as characters
				}
				want = append(want, fmt.Sprint(f[0], " ", f[1], " ", f[2], " ", f[3]))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || avoided != p.Avoided {
				t.Errorf("%s: %q %v, want %q %v", p.Path, got, avoided, want, p.Avoided)
			}
		}
	}
}

func TestGoldenSampling(t *testing.T) {
	var g struct {
		Sampling struct {
			BottomK  []string `json:"bottom_k"`
			Paths    []string
			Selected []string
		}
	}
	if !golden(t, &g) {
		return
	}
	for _, paper := range []bool{false, true} {
		v := NewInventory(StageOne{Paper: paper})
		for _, p := range g.Sampling.Paths {
			v.Add([]byte("h.test"), []byte(p))
		}
		want := g.Sampling.BottomK
		if paper {
			want = g.Sampling.Selected
		}
		slices.Sort(want)
		if got := v.Samples()[0].Paths; !slices.Equal(got, want) {
			t.Errorf("paper %v: %q, want %q", paper, got, want)
		}
	}
}

type goldenStageOne struct {
	Hosts   map[string]int `json:"hosts_considered"`
	Pairs   [][6]any
	Params  struct{ First, M0, Min_urls int }
	Samples map[string][]string
	URLs    []string
}

func TestGoldenStageOne(t *testing.T) {
	var g struct {
		Stage1, Stage1_tiny goldenStageOne
	}
	if !golden(t, &g) {
		return
	}
	for _, s := range []goldenStageOne{g.Stage1, g.Stage1_tiny} {
		v := NewInventory(StageOne{Paper: true, MinURLs: s.Params.Min_urls, FirstModulus: s.Params.M0, FirstDouble: s.Params.First})
		for _, u := range s.URLs {
			if err := v.AddURL([]byte(u)); err != nil {
				t.Fatal(err)
			}
		}
		if s.Hosts != nil {
			hosts, samples := map[string]int{}, map[string][]string{}
			for _, h := range v.Samples() {
				hosts[h.Host], samples[h.Host] = h.URLs, h.Paths
			}
			if !maps.Equal(hosts, s.Hosts) {
				t.Errorf("hosts %v, want %v", hosts, s.Hosts)
			}
			if !maps.EqualFunc(samples, s.Samples, slices.Equal) {
				t.Errorf("samples %v, want %v", samples, s.Samples)
			}
		}
		got, want := []string{}, []string{}
		for _, p := range v.Pairs() {
			got = append(got, fmt.Sprintf("%s %s %.9f %.9f %d %d", p.Host1, p.Host2, p.Score, p.Raw, p.Shared, p.SharedPaths))
		}
		for _, p := range s.Pairs {
			want = append(want, fmt.Sprintf("%s %s %.9f %.9f %.0f %.0f", p[:]...))
		}
		if !slices.Equal(got, want) {
			t.Errorf("pairs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// readInventory reads the URLs of a set.
func readInventory(t testing.TB, dir string, o StageOne) *Inventory {
	t.Helper()
	v := NewInventory(o)
	bad := 0
	for _, line := range readLines(t, filepath.Join(dir, "urls.txt.gz")) {
		if err := v.AddURL([]byte(line)); err != nil {
			bad++
		}
	}
	if bad > 100 {
		t.Fatalf("%s: %d lines are no URLs", dir, bad)
	}
	return v
}

// The paper's rule gives what the independent implementation gave.
func TestPaperStageOne(t *testing.T) {
	dir := corpusDir(t)
	if dir == "" {
		return
	}
	checkOracle(t, dir, filepath.Join(dir, "oracle-stage1.tsv"))
	if os.Getenv("MIRRORD_REPLICA_SET") != "" {
		return
	}
	dir = filepath.Join(filepath.Dir(dir), "mirrors2010")
	checkOracle(t, dir, filepath.Join(dir, "oracle-stage1.tsv.gz"))
}

func checkOracle(t *testing.T, dir, file string) {
	t.Helper()
	got := readInventory(t, dir, StageOne{Paper: true}).Pairs()
	want := readLines(t, file)
	if len(got) != len(want) {
		t.Errorf("%s: %d pairs, want %d", dir, len(got), len(want))
	}
	wrong := 0
	for i, line := range want[:min(len(want), len(got))] {
		f := strings.Split(line, "\t")
		score, err := strconv.ParseFloat(f[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		p := got[i]
		if p.Host1 != f[1] || p.Host2 != f[2] || math.Abs(p.Score-score) > 1e-6 || math.Abs(p.Raw-raw) > 1e-6 || strconv.Itoa(p.Shared) != f[4] || strconv.Itoa(p.SharedPaths) != f[5] {
			if wrong++; wrong < 5 {
				t.Errorf("%s: place %d: %+v, want %s", dir, i+1, p, line)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d lines differ", dir, wrong, len(want))
	}
}
