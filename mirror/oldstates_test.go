// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// unpackState unpacks an archive of testdata/states into a new folder, with the times of its files.
func unpackState(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/states", name+".tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err == nil {
			err = unpackEntry(dir, h, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackEntry(dir string, h *tar.Header, r io.Reader) error {
	path := filepath.Join(dir, h.Name)
	switch h.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o750)
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, path)
	case tar.TypeLink:
		return os.Link(filepath.Join(dir, h.Linkname), path)
	}
	b, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(path, b, h.FileInfo().Mode())
	}
	return errors.Join(err, os.Chtimes(path, h.ModTime, h.ModTime))
}

// stateText says all that must stay of a state, in lines.
type stateText struct {
	*testing.T
	strings.Builder
	st *store.State
}

func (x *stateText) line(format string, args ...any) { fmt.Fprintf(x, format+"\n", args...) }

func (x *stateText) ok(err error) {
	x.Helper()
	if err != nil {
		x.Error(err)
	}
}

// facts says what mirror.db has.
func (x *stateText) facts() {
	c := shared.NewConsoleFacts(x.st.Shared)
	users, err := c.Users()
	x.ok(err)
	tokens, err := c.Tokens()
	x.ok(err)
	sessions, err := c.Sessions()
	x.ok(err)
	hooks, err := c.Hooks()
	x.ok(err)
	audit, err := c.Audit(100)
	x.ok(err)
	orders, err := shared.NewOrderFacts(x.st.Shared).Orders()
	x.ok(err)
	pauses, err := shared.Pauses(x.st.Shared)
	x.ok(err)
	jobs, err := x.st.Shared.JobRecords()
	x.ok(err)
	host, _, err := x.st.Shared.LoadHost("http://127.0.0.1:18461")
	x.ok(err)
	for name, v := range map[string]any{"users": users, "tokens": tokens, "sessions": sessions, "hooks": hooks,
		"audit": audit, "pauses": pauses, "host": host} {
		b, err := json.Marshal(v)
		x.ok(err)
		x.line("%s %s", name, b)
	}
	for n, v := range orders {
		x.line("order %d %s", n, v)
	}
	for name, v := range jobs {
		x.line("record of job %s %s", name, v)
	}
	lines := strings.SplitAfter(x.String(), "\n")
	slices.Sort(lines)
	x.Reset()
	x.WriteString(strings.Join(lines, ""))
}

// site says what a site has.
func (x *stateText) site(name string, s *store.Site) {
	x.line("\n== %s", name)
	runs, err := x.st.Shared.Runs(name, 100)
	x.ok(err)
	for _, r := range runs {
		b, err := json.Marshal(r)
		x.ok(err)
		x.line("run %s", b)
	}
	run, err := s.Notes.Run()
	x.ok(err)
	begun, err := s.Notes.Runs()
	x.ok(err)
	rules, err := s.Notes.Fingerprint()
	x.ok(err)
	known, err := s.Records.Known()
	x.ok(err)
	x.line("unfinished run %+v, %d begun, rules %s, %d URLs", run, begun, rules, known)
	for _, fact := range []string{"ask-all", "gaps", "get", "held", "manner", "reuse-found", "sizes"} {
		v, err := s.Notes.Fact(fact)
		x.ok(err)
		if len(v) > 0 {
			x.line("fact %s %s", fact, v)
		}
	}
	x.ok(s.Records.Resources(func(r *record.Resource) error {
		targets, err := s.Records.TargetsOf(r.ID)
		x.line("now%s, links %x", x.record(s, r), targets)
		return err
	}))
	x.ok(s.Records.Observations(func(o *record.Observation) error {
		x.line("observed %s", strings.Replace(fmt.Sprintf("%+v", *o), " Joined:[]", "", 1))
		return nil
	}))
	x.ok(s.Records.Replay(func(id uint32, n record.NewURL) error {
		x.line("journal: new %d %+v", id, n)
		return nil
	}, func(r *record.Resource, targets []byte, linked bool) error {
		x.line("journal:%s, links %x %v", x.record(s, r), targets, linked)
		return nil
	}))
	vs, err := s.Versions.List()
	x.ok(err)
	for _, v := range vs {
		x.version(s, v)
	}
}

// record says all of a record, but for the places where its body and heads lie: it has these themselves.
func (x *stateText) record(s *store.Site, r *record.Resource) string {
	var text strings.Builder
	v := reflect.ValueOf(*r)
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case v.Field(i).IsZero(), name == "At", name == "Head", name == "LastHead", name == "Answer":
		case name == "Digest":
			fmt.Fprintf(&text, " %s=%x", name, r.Digest)
		default:
			fmt.Fprintf(&text, " %s=%+v", name, v.Field(i))
		}
	}
	for _, at := range []record.HeadPlace{r.Head, r.LastHead} {
		if !at.IsZero() {
			h, err := s.Records.ReadHead(r.URL, at)
			x.ok(err)
			fmt.Fprintf(&text, ", head %v %q", h.Normalised, h)
		}
	}
	if r.Answer != nil {
		fmt.Fprintf(&text, ", answer %v %q", r.Answer.Normalised, r.Answer)
	}
	if r.Body == record.PackBody {
		f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), r.At)
		x.ok(err)
		fmt.Fprintf(&text, ", body %x, with links %x", sha256.Sum256(f.Body), sha256.Sum256(f.Links))
	}
	return text.String()
}

// version says what a version has: each file is read, and has the digest that the file table names.
func (x *stateText) version(s *store.Site, v record.Version) {
	x.line("version %+v", v)
	was, err := s.Versions.Past(v.Number)
	x.ok(err)
	x.ok(was.Resources(func(r *record.Resource, here bool) error {
		if here && r.Changed == v.Number { // others are those of another version
			x.line("then%s", x.record(s, r))
		}
		return nil
	}))
	p, err := render.OpenPast(render.MaterialOf(x.st, s), v.Number)
	if err != nil {
		x.Error(err)
		return
	}
	for _, f := range p.Files() {
		b, err := fs.ReadFile(p, f.Path)
		switch {
		case errors.Is(err, blobs.ErrAway):
			b, err = []byte("in the depot"), nil
		case s.Frames.OneOff() && errors.Is(err, disk.ErrDamaged): // get takes it from the published tree
			b, err = os.ReadFile(filepath.Join(s.Dir, "current", f.Path))
		}
		x.ok(err)
		x.line("file %s %x", f.Path, sha256.Sum256(b))
	}
}

// withoutNoted leaves out what a run that was killed had noted after its last commit, in at most 250 ms: it
// is requested once more, because the file of such notes is no longer read.
func withoutNoted(text string) string {
	return regexp.MustCompile(`(?m)^(unfinished run|journal:) .*\n`).ReplaceAllString(text, "")
}

// TestStatesOfOlderPrograms opens states that commit 7f94b91d wrote. "kept" has sites with versions, with a
// run that was killed, with one that is held back, and with the tail of a journal, and users, tokens, a pause
// and an order. Of "away" a depot has a body of the first version. "oneoff" is what get leaves, with rests.
// Opening for writing keeps all of it. Opening for reading before that shows it, or says which command
// converts the site. want.txt is what the tests of that commit read of it.
func TestStatesOfOlderPrograms(t *testing.T) {
	for name, o := range map[string]store.Options{
		"kept":   {},
		"away":   {},
		"oneoff": {Volatile: true, OneOff: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpackState(t, name)
			want, err := os.ReadFile(filepath.Join(dir, "want.txt"))
			if err = errors.Join(err, os.Remove(filepath.Join(dir, "want.txt"))); err != nil {
				t.Fatal(err)
			}
			if name == "oneoff" { // get places the published tree back before its next run
				tree := filepath.Join(dir, ".site.mirrord/sites/127.0.0.1-18465/trees/000003")
				err := errors.Join(os.Mkdir(filepath.Dir(tree), 0o755), os.Rename(filepath.Join(dir, "site"), tree))
				if err != nil {
					t.Fatal(err)
				}
				dir = filepath.Join(dir, ".site.mirrord")
			}
			all := partsOf(string(want))
			for _, how := range []string{"reading", "writing", "writing", "reading"} {
				got, convert := textOf(t, dir, o, how == "writing")
				for site, text := range partsOf(got) {
					if site == "tail" {
						text, all[site] = withoutNoted(text), withoutNoted(all[site])
					}
					if text != all[site] {
						t.Fatalf("%s %s: %s", how, site, firstDifference(text, all[site]))
					}
				}
				named := convert != nil && strings.Contains(convert.Error(), "mirrord gc ")
				if len(partsOf(got)) < len(all) && !named {
					t.Errorf("%s: %v", how, convert)
				}
			}
		})
	}
}

// partsOf splits the text of a state by sites, "" for what comes before them.
func partsOf(text string) map[string]string {
	out := map[string]string{}
	for i, part := range strings.Split(text, "\n== ") {
		if name, rest, _ := strings.Cut(part, "\n"); i > 0 {
			out[name] = rest
		} else {
			out[""] = part
		}
	}
	return out
}

// textOf says what a state has, or why it must be converted first.
func textOf(t *testing.T, dir string, o store.Options, write bool) (text string, convert error) {
	t.Helper()
	st, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := &stateText{T: t, st: st}
	x.facts()
	names, err := st.Sites()
	x.ok(err)
	for _, name := range names {
		open := st.ViewSite
		if write {
			open = st.OpenSite
		}
		s, err := open(name)
		if err != nil && !write {
			convert = err
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		x.site(name, s)
		x.ok(s.Close())
	}
	return x.String(), convert
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%s\nwas\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, %d before", len(a), len(b))
}
