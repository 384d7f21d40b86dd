// SPDX-License-Identifier: Apache-2.0

package zstdfast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// noise returns n bytes that do not compress.
func noise(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// words returns n bytes of text from a vocabulary in which few words are frequent.
func words(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	var b []byte
	for len(b) < n {
		w := int(r.ExpFloat64() * 300)
		b = fmt.Appendf(b, "<a href=\"w%d.html\">%x</a>%c", w, w*w*w, " .,\n"[r.IntN(4)])
	}
	return b[:n]
}

// manual returns the project's own documentation: prose, tables, code.
func manual(t testing.TB) []byte {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no docs/*.md: %v", err)
	}
	var all []byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// everyCode has numbers of literals, lengths of matches and offsets of each code that an Encoder makes.
func everyCode() (b []byte) {
	seed := uint64(100)
	add := func(n int) []byte {
		seed++
		b = append(b, noise(n, seed)...)
		return b[len(b)-n:]
	}
	repeat := func(unit []byte, n int) {
		for i := range n {
			b = append(b, unit[i%len(unit)])
		}
	}
	for n := 4; n < 40; n++ { // matches that are too short for the table have the offset of the last but one
		first, second := slices.Clone(add(64)), slices.Clone(add(64))
		repeat(first, 12)
		repeat(second, 12)
		b = append(b, first[24:][:n]...)
		add(9)
	}
	for back := 1; back < maxWindow/4; back += max(back/2, 1) {
		marks := slices.Clone(add(min(back, 30)))
		repeat([]byte{byte(back >> 4)}, back-len(marks))
		repeat(marks, 30)
		add(9)
	}
	for n := 0; n < maxBlock; n += 1 + n/10 {
		repeat(add(16), 12+n) // a match
		first, second := add(20), add(20)
		repeat(first, 20)
		add(n) // literals between matches
		repeat(second, 20)
	}
	return b
}

func samples(t testing.TB) map[string][]byte {
	s := map[string][]byte{
		"nothing":         nil,
		"a byte":          {7},
		"32 bytes":        noise(32, 5),
		"zeros":           make([]byte, 140_000),
		"noise":           noise(140_000, 6),
		"words":           words(200_000, 7),
		"the manual":      manual(t),
		"blocks again":    bytes.Repeat(noise(70_000, 8), 4),
		"two symbols":     bytes.Repeat([]byte("ab"), 5000),
		"noise in text":   slices.Concat(words(70_000, 9), noise(70_000, 10), words(70_000, 9)),
		"zeros in noise":  slices.Concat(noise(100_000, 11), make([]byte, 70_000), noise(100_000, 11)),
		"few of a kind":   []byte(strings.Repeat("x", 4000) + "y" + strings.Repeat("x", 4000)),
		"short, repeated": []byte("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz012345abcdefghijklmnopqrst"),
		"no run, no raw":  slices.Concat([]byte("q"), bytes.Repeat([]byte("z"), 1<<17), noise(50, 1)),
	}
	for _, edge := range []int{255, 1023, maxBlock} {
		for n := edge - 1; n <= edge+2; n++ {
			s[fmt.Sprintf("%d of words", n)] = words(n, 12)
			s[fmt.Sprintf("%d of noise", n)] = noise(n, 13)
		}
	}
	return s
}

func decoder(t testing.TB) *zstd.Decoder {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// What was compressed comes back, and what an Encoder compressed before makes no difference.
func TestRoundTrip(t *testing.T) {
	d := decoder(t)
	again := New()
	for name, src := range samples(t) {
		packed := again.Append([]byte("before"), src)[len("before"):]
		got, err := d.DecodeAll(packed, nil)
		if err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: %d bytes came back as %d: %v", name, len(src), len(got), err)
		}
		if most := len(src) + 32 + 3*len(src)/maxBlock; len(packed) > most {
			t.Errorf("%s: a frame of %d bytes for %d", name, len(packed), len(src))
		}
		if fresh := New().Append(nil, src); !bytes.Equal(fresh, packed) {
			t.Errorf("%s: a new Encoder makes another frame", name)
		}
	}
}

// The program of those who made the format reads the frames.
func TestReference(t *testing.T) {
	program, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("the program zstd is not installed")
	}
	var packed, want []byte
	e := New()
	for _, src := range samples(t) {
		packed, want = e.Append(packed, src), append(want, src...)
	}
	c := exec.Command(program, "-d", "-c", "-q")
	c.Stdin = bytes.NewReader(packed)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	got, err := c.Output()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("zstd -d: %v %s; %d bytes of %d", err, stderr.Bytes(), len(got), len(want))
	}
}

// Data in which each code occurs comes back.
func TestCodes(t *testing.T) {
	src := everyCode()
	e := New()
	packed := e.Append(nil, src)
	if got, err := decoder(t).DecodeAll(packed, nil); err != nil || !bytes.Equal(got, src) {
		t.Errorf("%d bytes came back as %d: %v", len(src), len(got), err)
	}
	clear(e.table[:])
	e.offsets = [2]int{1, 4}
	var counts [coders][maxSymbols]uint32
	for at := 0; at < len(src); at += maxBlock {
		e.search(src, at, min(at+maxBlock, len(src)))
		e.code()
		for i := range e.coders {
			for code, n := range e.coders[i].counts {
				counts[i][code] += n
			}
		}
	}
	// No match is shorter than 4 bytes, and of the last offsets only the first one is repeated, which is 0.
	for kind, want := range [coders][2]int{literalCodes: {0, 34}, offsetCodes: {2, 20}, matchCodes: {1, 51}} {
		for code := want[0]; code <= want[1]; code++ {
			if counts[kind][code] == 0 {
				t.Errorf("kind %d: no code %d", kind, code)
			}
		}
	}
}

// versions are pairs of a dictionary and similar data.
func versions(t testing.TB) map[string][2][]byte {
	text := words(60_000, 40)
	inserted := slices.Concat(text[:20_000], []byte("a few words more"), text[20_000:])
	replaced := bytes.ReplaceAll(text, []byte("w7.html"), []byte("w7.htmx"))
	all := manual(t)
	return map[string][2][]byte{
		"nothing over nothing":   {},
		"nothing over text":      {text, nil},
		"text over nothing":      {nil, text},
		"the same":               {text, text},
		"a byte over a byte":     {{1}, {1}},
		"short over short":       {text[:20], text[:21]},
		"24 bytes over text":     {text, text[300:324]},
		"25 bytes over text":     {text, text[300:325]},
		"inserted":               {text, inserted},
		"taken out":              {inserted, text},
		"replaced":               {text, replaced},
		"noise over text":        {text, noise(3000, 41)},
		"text over a byte":       {text[:1], text},
		"many blocks":            {all, slices.Concat(all[len(all)/2:], text, all)},
		"the end of a large one": {slices.Concat(noise(maxWindow, 42), text), slices.Concat(noise(2000, 42), text)},
	}
}

// A frame over a dictionary is decoded with the dictionary, and is no larger than the library's.
func TestAppendOver(t *testing.T) {
	e := New()
	for name, v := range versions(t) {
		dict, src := v[0], v[1]
		packed := e.AppendOver([]byte("before"), slices.Concat(dict, src), len(dict))[len("before"):]
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderDictRaw(0, dict),
			zstd.WithDecoderMaxWindow(2*maxWindow))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.DecodeAll(packed, nil)
		if d.Close(); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: %d bytes came back as %d: %v", name, len(src), len(got), err)
		}
		if len(dict) == 0 || len(dict) > maxWindow {
			continue
		}
		theirs, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
			zstd.WithEncoderDictRaw(0, dict))
		if err != nil {
			t.Fatal(err)
		}
		if most := len(theirs.EncodeAll(src, nil)); len(packed) > most+most/10+24 {
			t.Errorf("%s: %d bytes, with the library %d", name, len(packed), most)
		}
		theirs.Close()
	}
	if fresh := New().Append(nil, manual(t)); !bytes.Equal(e.Append(nil, manual(t)), fresh) {
		t.Error("a dictionary before makes another frame")
	}
}

// A document that differs from another one in single bytes takes little more than these: an offset that is
// repeated takes one bit, and the match at its place in the dictionary is found where no hash would find
// it.
func TestRepeats(t *testing.T) {
	const begin = 200 // equal bytes before the first change
	changed := func(b []byte, each int) []byte {
		b = slices.Clone(b)
		for i := begin; i < len(b); i += each {
			b[i] ^= 0x55
		}
		return b
	}
	dict := noise(12_000, 60)
	e := New()
	for _, each := range []int{7, 40} {
		n := len(e.AppendOver(nil, slices.Concat(dict, changed(dict, each)), len(dict)))
		if most := len(dict)/each*3/2 + 50; n > most {
			t.Errorf("a document with a changed byte in %d takes %d bytes, not %d", each, n, most)
		}
	}
	text := words(12_000, 61)
	n := len(e.Append(nil, slices.Concat(text, changed(text, 40)))) - len(e.Append(nil, text))
	if most := len(text) / 40 * 4; n > most {
		t.Errorf("a copy with a changed byte in 40 takes %d bytes, not %d", n, most)
	}
}

// The reference program of the format reads frames over a dictionary.
func TestReferenceOver(t *testing.T) {
	program, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("the program zstd is not installed")
	}
	dir := t.TempDir()
	for name, v := range versions(t) {
		dict, src := v[0], v[1]
		if len(dict) < 8 { // the program wants no smaller one
			continue
		}
		file := filepath.Join(dir, "dictionary")
		if err := os.WriteFile(file, dict, 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "-d", "-c", "-q", "-D", file)
		c.Stdin = bytes.NewReader(New().AppendOver(nil, slices.Concat(dict, src), len(dict)))
		var stderr bytes.Buffer
		c.Stderr = &stderr
		got, err := c.Output()
		if err != nil || !bytes.Equal(got, src) {
			t.Errorf("%s: zstd -d -D: %v %s; %d bytes of %d", name, err, stderr.Bytes(), len(got), len(src))
		}
	}
}

// A match does not lie further back than the window that the header says.
func TestWindow(t *testing.T) {
	piece := words(70_000, 14)
	src := slices.Concat(piece, make([]byte, maxWindow-100_000), piece)
	packed := New().Append(nil, src)
	got, err := decoder(t).DecodeAll(packed, nil)
	if err != nil || !bytes.Equal(got, src) {
		t.Fatalf("%d bytes of %d: %v", len(got), len(src), err)
	}
	var h zstd.Header
	if err := h.Decode(packed); err != nil || h.SingleSegment || h.WindowSize != maxWindow ||
		h.FrameContentSize != uint64(len(src)) {
		t.Errorf("header %+v: %v", h, err)
	}
}

// A large frame is smaller than its parts, comes back, and its checksum finds a byte that changed.
func TestLargeFrameInBulk(t *testing.T) {
	src := words(largeFrame+maxWindow, 15)
	e, parts := New(), 0
	for part := range slices.Chunk(src, largeFrame) {
		parts += len(e.Append(nil, part))
	}
	packed := e.AppendSummed([]byte("before"), src)[len("before"):]
	if len(packed) > parts*98/100 {
		t.Errorf("%d bytes, its parts have %d", len(packed), parts)
	}
	got, err := decoder(t).DecodeAll(packed, nil)
	if err != nil || !bytes.Equal(got, src) {
		t.Fatalf("%d bytes of %d: %v", len(got), len(src), err)
	}
	if small := e.Append(nil, src[:1000]); !bytes.Equal(small, New().Append(nil, src[:1000])) {
		t.Error("a large frame changes the next small one")
	}
	packed[len(packed)-1] ^= 1 // of the checksum
	if _, err := decoder(t).DecodeAll(packed, nil); !errors.Is(err, zstd.ErrCRCMismatch) {
		t.Errorf("another checksum: %v", err)
	}
}

// Frames are no larger than those of the library at its fastest level.
func TestSize(t *testing.T) {
	theirs, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	src := manual(t)
	got, want := len(New().Append(nil, src)), len(theirs.EncodeAll(src, nil))
	if got > want {
		t.Errorf("%d bytes of documentation become %d, with the library %d", len(src), got, want)
	}
}

// Encoders share nothing.
func TestConcurrent(t *testing.T) {
	src := words(150_000, 17)
	want := New().Append(nil, src)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			e := New()
			e.Append(nil, noise(1000*i, uint64(i)))
			if !bytes.Equal(e.Append(nil, src), want) {
				t.Error("another frame")
			}
		})
	}
	wg.Wait()
}

// Shares add up to all states, for any counts.
func TestShares(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	for range 5000 {
		counts := make([]uint32, 2+r.IntN(52))
		total := 0
		for i := range counts {
			if r.IntN(3) > 0 || i == len(counts)-1 || i == 0 {
				counts[i] = 1 + uint32(r.ExpFloat64()*r.ExpFloat64()*float64(r.IntN(400)))
			}
			total += int(counts[i])
		}
		var s states
		s.distribute(counts, total, 8+r.IntN(2))
		sum := 0
		for i, p := range s.share[:s.used] {
			sum += int(max(p, -p))
			if (p == 0) != (counts[i] == 0) {
				t.Fatalf("%d of %v has %d states", i, counts, p)
			}
		}
		if sum != 1<<s.log {
			t.Fatalf("%d states of %d for %v", sum, 1<<s.log, counts)
		}
	}
}

// FuzzAppend compresses data as it is, and repetitions of it: several blocks.
func FuzzAppend(f *testing.F) {
	f.Add([]byte("to be or not to be, that is the question"), uint32(0))
	f.Add([]byte("<a href=\"../index.html\">up</a>"), uint32(1<<24|140_000))
	f.Add(noise(300, 19), uint32(7<<24|1000))
	f.Add(words(3000, 20), uint32(255<<24|270_000))
	d := decoder(f)
	e := New()
	f.Fuzz(func(t *testing.T, data []byte, grow uint32) {
		src := slices.Clone(data)
		step := int(grow>>24) + 1
		for n := int(grow & (1<<19 - 1)); len(data) > 0 && len(src) < n; {
			src = append(src, data[len(src)*step%len(data):]...)
			src = append(src, byte(len(src)*step>>3))
		}
		got, err := d.DecodeAll(e.Append(nil, src), nil)
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%d bytes came back as %d: %v", len(src), len(got), err)
		}
	})
}

// FuzzAppendOver makes a document of pieces of another one.
func FuzzAppendOver(f *testing.F) {
	f.Add([]byte("to be or not to be, that is the question"), []byte{3, 9, 0, 40, 255})
	f.Add(words(3000, 50), []byte("abcdefghijkl"))
	f.Add(noise(30, 51), []byte{1, 2, 3})
	f.Add([]byte{}, []byte{1, 2, 3})
	e := New()
	f.Fuzz(func(t *testing.T, dict, how []byte) {
		src := slices.Clone(how)
		for i, b := range how {
			at := min(int(b)*len(dict)/255, len(dict))
			src = append(src, dict[at:min(at+(i*int(b))%900, len(dict))]...)
			if src = append(src, how[i/2:i]...); len(src) > 2*maxBlock {
				break
			}
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderDictRaw(0, dict))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		got, err := d.DecodeAll(e.AppendOver(nil, slices.Concat(dict, src), len(dict)), nil)
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%d bytes came back as %d: %v", len(src), len(got), err)
		}
	})
}
