// SPDX-License-Identifier: Apache-2.0

package away

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// depot has parts and bodies by their digests.
type depot struct {
	has     map[SHA256][]byte
	fetched int
}

func (d *depot) FetchParts(_ *Remainder, parts []Part, use func(*Part, []byte) error) error {
	for i := range parts {
		raw, ok := d.has[parts[i].SHA256]
		if !ok {
			return errors.New("the depot does not answer")
		}
		d.fetched++
		if err := use(&parts[i], raw); err != nil {
			return err
		}
	}
	return nil
}

func (d *depot) FetchBody(_ *Remainder, b *Body) (io.ReadCloser, error) {
	d.fetched++
	return io.NopCloser(bytes.NewReader(d.has[b.SHA256])), nil
}

// left makes a state with a site x of which a depot has parts of pack 1 and two bodies, a small and a large
// one. whole are the bytes of the pack.
func left(t *testing.T) (s *State, d *depot, whole []byte) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "sites/x/packs"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "blobs/tmp"), 0o755))
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { must(t, root.Close()) })
	whole = bytes.Repeat([]byte("0123456789"), 30)
	d = &depot{has: map[SHA256][]byte{}}
	put := func(b []byte) Part {
		digest := SHA256(sha256.Sum256(b))
		d.has[digest] = b
		return Part{Size: int64(len(b)), SHA256: digest}
	}
	first, second := put(whole[:100]), put(whole[200:])
	second.From = 200
	note := Remainder{
		Format:   Format,
		Segments: []string{"segment"},
		Packs:    []Pack{{Number: 1, Parts: []Part{first, second}}},
		Bodies:   []Body{{Part: put([]byte("small"))}, {Part: put(make([]byte, togetherBelow))}},
	}
	write(t, root, &note)
	local := make([]byte, len(whole))
	copy(local[100:], whole[100:200])
	must(t, root.WriteFile("sites/x/packs/"+bodies.PackName(1), local, 0o644))
	return &State{In: &home.StateFolder{Dir: dir, Root: root}, Fetch: d}, d, whole
}

func write(t *testing.T, root *os.Root, note any) {
	t.Helper()
	b, err := json.Marshal(note)
	must(t, err)
	must(t, root.WriteFile("sites/x/new", b, 0o644))
	must(t, root.Rename("sites/x/new", "sites/x/"+FileName))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// packsOf opens the packs of the site.
func packsOf(t *testing.T, s *State, a *Site) *bodies.Packs {
	t.Helper()
	root, err := s.In.Root.OpenRoot("sites/x/packs")
	must(t, err)
	p := bodies.Open(root, a)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// A range of a pack comes from the depot once, and with it nothing that is here; an error of the depot is
// ErrAway, and the next attempt fetches.
func TestBring(t *testing.T) {
	s, d, whole := left(t)
	a, err := s.Noted("x")
	must(t, err)
	packs := packsOf(t, s, a)
	at := record.Place{Pack: 1, Off: 50, Len: 20}
	local := record.Place{Pack: 1, Off: 120, Len: 20}
	if !a.Has(packs, at) || a.Has(packs, local) || a.Has(packs, record.Place{}) {
		t.Error("parts of the pack are mistaken")
	}
	has := d.has
	d.has = nil
	if err := packs.Bring(1, 50, 70); !errors.Is(err, blobs.ErrAway) {
		t.Errorf("%v", err)
	}
	d.has = has
	for range 2 {
		if err := packs.Bring(1, 50, 150); err != nil || d.fetched != 1 {
			t.Errorf("%d parts were fetched, %v", d.fetched, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(s.In.Dir, "sites/x/packs", bodies.PackName(1)))
	if !bytes.Equal(b[:200], whole[:200]) || bytes.Equal(b, whole) || err != nil {
		t.Errorf("the pack has %q, %v", b, err)
	}
	if a.Has(packs, at) {
		t.Error("what came counts as being in the depot alone")
	}
	none := &State{In: s.In}
	if a, err = none.Noted("x"); err != nil {
		t.Fatal(err)
	}
	if err := a.Bring(s.In.Root, 1, 250, 260); err == nil {
		t.Error("a part came from no depot")
	}
}

// All that is left comes, with the bodies that are used, and the note goes; but when another check-out has
// replaced the note meanwhile, it stays.
func TestBringAll(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		s, d, whole := left(t)
		a, err := s.Noted("x")
		must(t, err)
		packs := packsOf(t, s, a)
		root, err := s.In.Root.OpenRoot("blobs")
		must(t, err)
		folder, err := disk.NewOpenDir(root)
		must(t, err)
		kept := blobs.Open(folder, false, s.Body)
		t.Cleanup(func() { must(t, kept.Close()) })
		for _, body := range a.Bodies {
			fi, err := kept.Stat(body.SHA256)
			if err != nil || fi.Size != body.Size || !a.HasOnly(body.SHA256, kept) {
				t.Errorf("%+v, %v", fi, err)
			}
		}
		bytesOf := int64(200 + len("small") + togetherBelow)
		got, err := a.BringAll(t.Context(), packs, kept, func(f func([32]byte) error) error {
			return errors.Join(f(a.Bodies[0].SHA256), f(a.Bodies[1].SHA256), f([32]byte{1}))
		})
		if err != nil || got != bytesOf || d.fetched != 4 {
			t.Errorf("%d bytes in %d parts, %v", got, d.fetched, err)
		}
		b, err := os.ReadFile(filepath.Join(s.In.Dir, "sites/x/packs", bodies.PackName(1)))
		if !bytes.Equal(b, whole) || !kept.Here(a.Bodies[0].SHA256) || a.HasOnly(a.Bodies[1].SHA256, kept) {
			t.Errorf("the pack has %q, %v", b, err)
		}
		if replaced {
			write(t, s.In.Root, &a.Remainder)
		}
		must(t, s.Drop(a))
		_, err = s.In.Root.Lstat("sites/x/" + FileName)
		if errors.Is(err, fs.ErrNotExist) == replaced {
			t.Errorf("replaced %v: %v", replaced, err)
		}
	}
}

// A note that cannot be is refused, and one that was replaced is read again.
func TestNoted(t *testing.T) {
	s, _, _ := left(t)
	good, err := s.Noted("x")
	must(t, err)
	if again, err := s.Noted("x"); again != good || err != nil {
		t.Errorf("read again: %v", err)
	}
	part := good.Packs[0].Parts[0]
	if d := part.SHA256; !good.Left(1, 0, 100, d) || good.Left(1, 0, 99, d) || good.Left(2, 0, 100, d) {
		t.Error("parts are mistaken")
	}
	for name, wrong := range map[string]struct {
		note any
		want error
	}{
		"newer":      {&Remainder{Format: Format + 1}, record.ErrNewerFormat},
		"no note":    {"text", disk.ErrDamaged},
		"no segment": {&Remainder{Packs: []Pack{{Number: 1, Parts: []Part{part}}}}, disk.ErrDamaged},
		"overlap": {&Remainder{
			Segments: []string{"a"},
			Packs:    []Pack{{Number: 1, Parts: []Part{part, part}}},
		}, disk.ErrDamaged},
		"body": {&Remainder{Bodies: []Body{{Part: Part{Size: -1}}}}, disk.ErrDamaged},
	} {
		write(t, s.In.Root, wrong.note)
		if a, err := s.Noted("x"); !errors.Is(err, wrong.want) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	must(t, s.In.Root.Remove("sites/x/"+FileName))
	if a, err := s.Noted("x"); a != nil || err != nil {
		t.Errorf("without a note: %v, %v", a, err)
	}
}
