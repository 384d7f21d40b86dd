// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"strings"
	"testing"
)

// small is a history of ours: a directory that comes, one that goes, a file that becomes a directory, a quiet
// week.
func small(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/small.history.tsv")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func smallHistory(t testing.TB) *History {
	t.Helper()
	h, err := Read(bytes.NewReader(small(t)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func zipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRead(t *testing.T) {
	for name, data := range map[string][]byte{"plain": small(t), "gzip": zipped(t, small(t))} {
		h, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if h.Site != "small" || h.Header["step_days"] != "7" || len(h.Versions) != 8 || h.Pages() != 15 ||
			h.Dirs() != 7 {
			t.Errorf("%s: site %q, header %v, %d versions, %d pages, %d directories", name, h.Site, h.Header,
				len(h.Versions), h.Pages(), h.Dirs())
		}
		if v := h.Versions[6]; v.Files != 10 || len(v.Changes) != 4 || v.Commit != "c5" || v.Time.Day() != 16 {
			t.Errorf("%s: version 6 is %+v", name, v)
		}
		var dirs []string
		for d := range Dir(h.Dirs()) {
			dirs = append(dirs, h.DirPath(d))
			if p := h.Parent(d); p >= d || (d > 0 && !strings.HasPrefix(h.DirPath(d), h.DirPath(p))) {
				t.Errorf("%s: the parent of %q is %d", name, h.DirPath(d), p)
			}
		}
		if got, want := strings.Join(dirs, " "),
			" docs docs/1.0 docs/2.0 news docs/3.0 docs/3.0/api.html"; got != want {
			t.Errorf("%s: directories %q, want %q", name, got, want)
		}
		// The page that got back what it had before has equal contents.
		if a, b := h.Versions[3].Changes[1], h.Versions[5].Changes[1]; h.Path(a.Page) != "index.html" || a != b {
			t.Errorf("%s: %v and %v should be equal", name, a, b)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "#mirrord-site-history\t1\n"
	const v0 = "V\t0\t2026-01-05T00:00:00Z\tc\t2\t2\nA\ta\t1\t00000000000000a1\nA\tb/c\t1\t00000000000000b1\n"
	for _, c := range []struct{ name, in, line, want string }{
		{"nothing", "", "line 1", "empty"},
		{"other file", "<!doctype html>\n", "line 1", "not a site history"},
		{"other format", "#mirrord-site-history\t2\n", "line 1", "reads format 1"},
		{"no version", head, "line 2", "no version"},
		{"header twice", head + "#site\ta\n#site\tb\n", "line 3", "twice"},
		{"header without value", head + "#site\n", "line 2", "no value"},
		{"header behind", head + v0 + "#site\tb\n", "line 5", "after the first version"},
		{"record before", head + "A\ta\t1\t00000000000000a1\n", "line 2", "before the first version"},
		{"unknown record", head + v0 + "R\ta\tb\n", "line 5", "unknown record"},
		{"empty line", head + v0 + "\n", "line 5", "empty line"},
		{"cut in a line", head + v0[:len(v0)-5], "line 4", "cut off"},
		{"cut after a line", head + v0[:strings.LastIndex(v0, "A\tb")], "line 4", "cut off"},
		{"cut before the next version", head + "#versions\t2\n" + v0, "line 6", "cut off"},
		{"files", head + strings.Replace(v0, "\t2\t2\n", "\t3\t2\n", 1), "line 5", "says 3 files"},
		{"number", head + v0 + "V\t2\t2026-01-12T00:00:00Z\tc\t2\t0\n", "line 5", "where version 1 comes"},
		{"back in time", head + v0 + "V\t1\t2026-01-04T23:59:59Z\tc\t2\t0\n", "line 5", "before that of version 0"},
		{"time", head + strings.Replace(v0, "2026-01-05T", "2026-01-05 ", 1), "line 2", "not of the form"},
		{"counts", head + strings.Replace(v0, "\t2\t2\n", "\t-2\t2\n", 1), "line 2", "must be numbers"},
		{"version fields", head + "V\t0\n", "line 2", "5 fields"},
		{"unsorted",
			head + "V\t0\t2026-01-05T00:00:00Z\tc\t2\t2\nA\tb\t1\t00000000000000a1\nA\ta\t1\t00000000000000b1\n",
			"line 4", "sorted"},
		{"path twice",
			head + "V\t0\t2026-01-05T00:00:00Z\tc\t2\t2\nA\tb\t1\t00000000000000a1\nA\tb\t1\t00000000000000b1\n",
			"line 4", "twice"},
		{"added twice", head + v0 + "V\t1\t2026-01-12T00:00:00Z\tc\t2\t1\nA\ta\t1\t00000000000000a2\n", "line 6",
			"is there already"},
		{"deleted twice",
			head + v0 + "V\t1\t2026-01-12T00:00:00Z\tc\t1\t1\nD\ta\nV\t2\t2026-01-12T00:00:00Z\tc\t1\t1\nD\ta\n",
			"line 8", "deleted and is not there"},
		{"updated, not there", head + v0 + "V\t1\t2026-01-12T00:00:00Z\tc\t1\t1\nM\tx\t1\t00000000000000a1\n",
			"line 6", "updated and is not there"},
		{"record fields", head + v0 + "V\t1\t2026-01-12T00:00:00Z\tc\t1\t1\nD\ta\t1\n", "line 6", "1 fields"},
		{"size", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\tb\t-2\t00000000000000a1\n", "line 3",
			"number of bytes"},
		{"blob", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\tb\t1\tXYZ\n", "line 3", "hexadecimal"},
		{"absolute", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\t/b\t1\t00000000000000a1\n", "line 3",
			"not a clean path"},
		{"upward", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\t../b\t1\t00000000000000a1\n", "line 3",
			"not a clean path"},
		{"empty path", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\t\t1\t00000000000000a1\n", "line 3", "empty"},
		{"long path", head + "V\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\t" + strings.Repeat("a", 5000) +
			"\t1\t00000000000000a1\n", "line 3", "5000 bytes"},
		{"long line", head + strings.Repeat("a", maxLine+1) + "\n", "line 2", "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.in))
			var at *LineError
			if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), c.line+": ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one of %s about %q", err, c.line, c.want)
			}
		})
	}
}

func TestReadGzipCutOff(t *testing.T) {
	whole := zipped(t, small(t))
	for _, n := range []int{3, 40, len(whole) / 2, len(whole) - 1} {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil ||
			(!strings.Contains(err.Error(), "cut off") && !strings.Contains(err.Error(), "EOF")) {
			t.Errorf("the first %d of %d bytes: error %v", n, len(whole), err)
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	h := smallHistory(t)
	var b Builder
	if err := b.Add(h.Versions[1].Time, "", []Record{{"a", "x", 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		version int
		records []Record
		want    string
	}{
		{0, nil, "before that of version 0"},
		{2, []Record{{"b", "x", 1}, {"a", "", 0}}, "sorted"},
		{2, []Record{{"b", "x", 1}, {"b", "y", 0}}, "twice"},
		{2, []Record{{"zz", "", 0}}, "is not there"},
		{2, []Record{{"z/", "x", 0}}, "not a clean path"},
	} {
		if err := b.Add(h.Versions[c.version].Time, "", c.records); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.records, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small(f))
	f.Add(zipped(f, small(f)))
	f.Add(
		[]byte(
			"#mirrord-site-history\t1\nV\t0\t2026-01-05T00:00:00Z\tc\t1\t1\nA\ta/a/a\t-1\t00000000000000a1\n" +
				"V\t1\t2026-01-05T00:00:00Z\tc\t0\t1\nD\ta/a/a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data))
		if err != nil {
			var at *LineError
			if !errors.As(err, &at) || h != nil {
				t.Errorf("error %v, history %v", err, h)
			}
			return
		}
		// What was read can be lived through: every count of the world holds against a count of all pages.
		w := NewWorld(h, 1)
		for more := true; more; more = w.Step() {
			checkWorld(t, w)
			if w.Now()%2 == 1 {
				w.Listing(Root)
				checkWorld(t, w)
			}
		}
	})
}
