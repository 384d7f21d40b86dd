// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// noise is text that compresses a little.
func noise(n int) string {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString([]string{"alpha ", "beta ", "gamma\n", "d", "é"}[random.IntN(5)])
	}
	return b.String()
}

// versionOf makes a version of a set; files whose origin sent no time get that of the version.
func versionOf(t testing.TB, number int, bodies map[string]string) fstest.MapFS {
	t.Helper()
	tree := makePHM(t, "index.html", bodies)
	var table bytes.Buffer
	w := NewFilesWriter(&table)
	for f, err := range tableOf(tree) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(f.Path, "untimed") {
			f.Modified = time.Time{}
		}
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenMeta(tree)
	if err != nil {
		t.Fatal(err)
	}
	m.Count(sum)
	m.Version, m.Primary = number, "https://h.example"
	m.Retrieved = retrieved.Add(time.Duration(number) * time.Hour)
	var meta bytes.Buffer
	if err := WriteMeta(&meta, m); err != nil {
		t.Fatal(err)
	}
	tree[FilesName].Data, tree[MetaName].Data = table.Bytes(), meta.Bytes()
	return tree
}

// twoVersions are versions with files that stay, change, come, go, and move.
func twoVersions(t testing.TB) (v1, v2 fstest.MapFS) {
	one := sampleBodies()
	maps.Copy(one, map[string]string{
		"large.html":    strings.Repeat(noise(5000), inMemory/5000+1), // packs better than it may
		"untimed.html":  noise(2000),
		"moves/a.html":  noise(3000),
		"goes/1.html":   "1",
		"goes/2.html":   "2",
		"goes/3~4.html": "3",
		"stays.html":    noise(5000),
	})
	two := maps.Clone(one)
	for p := range one {
		if strings.HasPrefix(p, "goes/") || p == "moves/a.html" {
			delete(two, p)
		}
	}
	maps.Copy(two, map[string]string{
		"moved/é.html":     one["moves/a.html"],
		"moved/plain.png":  one["moves/a.html"], // another type: not compressed
		"docs/a.html":      "<p>changed",
		"new.html":         noise(4000),
		"empty-again.html": "",
	})
	return versionOf(t, 1, one), versionOf(t, 3, two)
}

func openArchive(t testing.TB, data []byte) *Archive {
	t.Helper()
	a, err := OpenArchive(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func packDelta(t testing.TB, base, target fs.FS) ([]byte, *Delta) {
	t.Helper()
	var b bytes.Buffer
	d, err := PackDelta(&b, base, target)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), d
}

// TestDelta: the old archive and the delta give the new one, byte for byte, whether the delta was made of the
// old archive or of the old tree.
func TestDelta(t *testing.T) {
	v1, v2 := twoVersions(t)
	old, full := pack(t, v1), pack(t, v2)
	for name, base := range map[string]fs.FS{"tree": v1, "archive": openArchive(t, old)} {
		delta, d := packDelta(t, base, v2)
		if d.Lines != 5 || d.Bodies != 3 || d.Gone != 4 {
			t.Errorf("%s: %d lines, %d bodies, %d gone", name, d.Lines, d.Bodies, d.Gone)
		}
		if again, _ := packDelta(t, base, v2); !bytes.Equal(delta, again) {
			t.Errorf("%s: two deltas differ", name)
		}
		var got bytes.Buffer
		applied, err := Apply(&got, openArchive(t, old), openArchive(t, delta))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), full) || applied.Target.Version != 3 {
			t.Errorf("%s: %d bytes, not the %d of version 3", name, got.Len(), len(full))
		}
		if len(delta) > len(full)/5 {
			t.Errorf("%s: the delta has %d bytes, the archive %d", name, len(delta), len(full))
		}
	}
	same, d := packDelta(t, v2, v2)
	if d.Lines+d.Bodies+d.Gone > 0 || len(same) > 3000 {
		t.Errorf("without a change: %+v, %d bytes", d, len(same))
	}
	var got bytes.Buffer
	if _, err := Apply(&got, openArchive(t, full), openArchive(t, same)); err != nil ||
		!bytes.Equal(got.Bytes(), full) {
		t.Errorf("without a change: %v", err)
	}
}

// Random versions: deltas between any two of them work.
func TestDeltaRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	version := func(n int) fstest.MapFS {
		bodies := map[string]string{"index.html": "start"}
		for _, p := range []string{"a", "b/c.html", "b/d.css", "e.png", "f", "g/h/i.html", "j", "k", "l"} {
			if random.IntN(3) > 0 {
				bodies[p] = strings.Repeat("body ", random.IntN(4)*50)
			}
		}
		return versionOf(t, n, bodies)
	}
	for n := range 60 {
		v1, v2 := version(n), version(n+1)
		old, full := pack(t, v1), pack(t, v2)
		delta, _ := packDelta(t, v1, v2)
		var got bytes.Buffer
		_, err := Apply(&got, openArchive(t, old), openArchive(t, delta))
		if err != nil || !bytes.Equal(got.Bytes(), full) {
			t.Fatalf("pair %d: %v", n, err)
		}
	}
}

// TestDeltaRefused: what does not fit is refused before anything is written.
func TestDeltaRefused(t *testing.T) {
	v1, v2 := versionOf(t, 1, sampleBodies()), versionOf(t, 2, map[string]string{"index.html": noise(3000)})
	other := versionOf(t, 7, map[string]string{"index.html": "other"})
	old := pack(t, v1)
	delta, _ := packDelta(t, v1, v2)
	damaged := slices.Clone(old)
	damaged[bytes.Index(old, []byte("style.css"))+60] ^= 1
	keeps := versionOf(t, 2, func() map[string]string {
		b := sampleBodies()
		b["index.html"] = "changed"
		return b
	}())
	small, _ := packDelta(t, v1, keeps)
	for name, c := range map[string]struct {
		old, delta []byte
		want       error
		text       string
		written    bool
	}{
		"another base": {pack(t, other), delta, ErrBase,
			"it builds on version 1 of https://h.example", false},
		"applied already": {pack(t, v2), delta, ErrBase, "the old archive is version 2 already", false},
		"no delta":        {old, old, ErrNotDelta, "", false},
		"delta as base":   {delta, delta, ErrDelta, "mirrord import --delta", false},
		"damaged base":    {damaged, small, ErrBase, "one of the two is damaged", true},
		"a lying delta": {old, edited(t, delta, func(d *Delta) { d.Target.SHA256 = strings.Repeat("0", 64) }),
			ErrBase, "what comes out is not", true},
		"a longer target": {old, edited(t, delta, func(d *Delta) { d.Target.Bytes = 100 }), ErrBase, "", false},
		"removed lines": {old, edited(t, delta, func(d *Delta) { d.Removed = nil }), ErrDamaged, "phm.files",
			false},
		"removed twice": {old, edited(t, delta, func(d *Delta) {
			d.Removed = [][2]int{{0, 3}, {2, 1}}
		}), ErrDamaged, "removed lines [2, 1]", false},
	} {
		var got bytes.Buffer
		_, err := Apply(&got, openArchive(t, c.old), openArchive(t, c.delta))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || (got.Len() > 0) != c.written {
			t.Errorf("%s: %v, %d bytes written", name, err, got.Len())
		}
	}
	// By itself it is refused by all that reads archives, also by releases that know no deltas.
	if _, err := Verify(openArchive(t, delta), VerifyOptions{}); !errors.Is(err, ErrDelta) {
		t.Errorf("verify: %v", err)
	}
	if _, err := VerifyDelta(openArchive(t, old)); !errors.Is(err, ErrNotDelta) {
		t.Errorf("verify of an archive as a delta: %v", err)
	}
	if _, err := unpack(t, delta, Limits{}); !errors.Is(err, ErrDelta) {
		t.Errorf("unpack: %v", err)
	}
	if _, err := PackDelta(io.Discard, openArchive(t, damaged), keeps); err == nil ||
		!strings.Contains(err.Error(), `base: damaged: copy "style.css"`) {
		t.Errorf("a delta to a damaged archive: %v", err)
	}
}

// A delta is verified by itself: what it has is read, and what it lacks is not missed.
func TestVerifyDelta(t *testing.T) {
	v1 := versionOf(t, 1, sampleBodies())
	bodies := sampleBodies()
	bodies["index.html"], bodies["new.html"], bodies["moved.css"] = "changed", "new", bodies["style.css"]
	delete(bodies, "style.css")
	delta, _ := packDelta(t, v1, versionOf(t, 2, bodies))
	rep, err := VerifyDelta(openArchive(t, delta))
	if err != nil || rep.Err() != nil {
		t.Fatal(err, rep)
	}
	if d := rep.Delta; rep.Files != 2 || d.Lines != 3 || d.Gone != 1 || d.Base.Version != 1 || d.Version != 2 {
		t.Errorf("%d files, %+v", rep.Files, d)
	}
	for name, c := range map[string]struct {
		path, body string
		want       ProblemKind
	}{
		"other bytes":  {"new.html", "wen", BadDigest},
		"cut":          {"new.html", "ne", BadSize},
		"not named":    {"style.css", "x", Unlisted},
		"a bad line":   {FilesName, "no line\n", BadTable},
		"a bad target": {MetaName, "", BadMeta},
	} {
		a := openArchive(t, edited(t, delta, func(d *Delta) {
			if c.path == MetaName {
				d.Meta = "{}"
			}
		}))
		entries := []entry{}
		for _, name := range append(a.Names(), c.path) {
			body, err := fs.ReadFile(a, name)
			if name == c.path && name != MetaName {
				body, err = []byte(c.body), nil
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(entries, func(e entry) bool { return e.name == name }) {
				entries = append(entries, entry{name: name, body: string(body)})
			}
		}
		rep, err := VerifyDelta(openArchive(t, makeZip(t, entries)))
		if err != nil || len(rep.Problems) == 0 || rep.Problems[0].Kind != c.want {
			t.Errorf("%s: %v, %+v", name, err, rep)
		}
	}
}

// edited changes what a delta says of itself.
func edited(t testing.TB, delta []byte, edit func(*Delta)) []byte {
	t.Helper()
	a := openArchive(t, delta)
	d, err := ReadDelta(a)
	if err != nil {
		t.Fatal(err)
	}
	edit(d)
	meta, err := d.write()
	if err != nil {
		t.Fatal(err)
	}
	var entries []entry
	for _, name := range a.Names() {
		body, err := fs.ReadFile(a, name)
		if err != nil {
			t.Fatal(err)
		}
		if name == MetaName {
			body = meta
		}
		entries = append(entries, entry{name: name, body: string(body)})
	}
	return makeZip(t, entries)
}
