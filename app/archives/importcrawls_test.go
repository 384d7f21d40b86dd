// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/archive/warc"
	"mirrord/store/home"
	"mirrord/testing/apptest"
)

// Nothing is left of an import that fails, and what a killed one has left is no obstacle.
func TestImportLeavesNothing(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	file := filepath.Join(t.TempDir(), "site.warc")
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: file + ".gz"}); err != nil {
		t.Fatal(err)
	}
	whole := apptest.ReadFile(t, file+".gz")
	apptest.Put(t, filepath.Dir(file), "cut.warc.gz", whole[:len(whole)-40])
	cut := filepath.Join(filepath.Dir(file), "cut.warc.gz")
	_, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{cut}, As: "cut", Job: true})
	if err == nil || !strings.Contains(err.Error(), cut+": record ") || env.FieldOf(err) != env.FieldDamaged {
		t.Errorf("%v", err)
	}
	dir, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	left := func() string {
		names, err := filepath.Glob(filepath.Join(dir, "sites", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	if l := left(); strings.Contains(l, "cut") {
		t.Errorf("left: %s", l)
	}
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite(home.AsideName("cut")) // as a killed import leaves it
	if err != nil {
		t.Fatal(err)
	}
	if names, err := st.Sites(); err != nil || strings.Contains(strings.Join(names, " "), "cut") {
		t.Errorf("sites: %q, %v", names, err)
	}
	if err := errors.Join(s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	var warned []string
	a.Warn = func(line string) { warned = append(warned, line) }
	r := ImportRequest{Files: []string{cut}, As: "cut", Lenient: true}
	m, err := ImportAny(t.Context(), a, r)
	if err != nil || m.Counted.Damaged != 1 || len(warned) != 1 {
		t.Fatalf("%+v, %v, %q", m, err, warned)
	}
	if l := left(); !strings.HasSuffix(l, "/cut "+filepath.Join(dir, "sites/site")) {
		t.Errorf("left: %s", l)
	}
}

// A damaged record is found whether the mirror wants it or not, and no mirror is made then. Only the digest
// shows the damage; the record is one whose body is read once, when it is taken.
func TestImportChecksAll(t *testing.T) {
	text := strings.Repeat("the same words again ", 1000)
	for name, bad := range map[string]string{"wanted": "/old/", "unwanted": "/other/", "none": ""} {
		var file bytes.Buffer
		w := warc.NewWriter(&file)
		for _, path := range []string{"/", "/old/", "/other/"} {
			body := "<title>A page</title><a href=/old/>old</a>" + text
			sum := warc.SHA256(sha256.Sum256([]byte(body)))
			if path == bad {
				body = strings.Replace(body, "same", "some", 1)
			}
			if _, err := w.Write(&warc.RecordDraft{
				Type:   warc.Response,
				URL:    "http://h.test" + path,
				Date:   time.Unix(apptest.ChangingStart, 0),
				Fields: []warc.HeaderField{{Name: "WARC-Payload-Digest", Value: sum}},
				Head:   []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
				Body:   strings.NewReader(body),
				Size:   int64(len(body)),
			}); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		apptest.Put(t, dir, "x.warc.gz", file.String())
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		apptest.Put(t, a.Jobs, "old.toml", "url = \"http://h.test/\"\n[scope]\nexclude = [\"/other/*\"]\n")
		m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir + "/x.warc.gz"}, As: "old"})
		if name == "none" {
			if err != nil || len(m.Versions) != 1 || m.Unused != 1 {
				t.Errorf("%s: %+v, %v", name, m, err)
			}
			continue
		}
		if !errors.Is(err, warc.ErrDigest) || env.FieldOf(err) != env.FieldDamaged ||
			!strings.Contains(err.Error(), "x.warc.gz: record ") {
			t.Errorf("%s: %v", name, err)
		}
		state, serr := a.State()
		left, gerr := filepath.Glob(filepath.Join(state, "sites", "*"))
		if serr != nil || gerr != nil || len(left) > 0 {
			t.Errorf("%s: left %q, %v, %v", name, left, serr, gerr)
		}
	}
}
