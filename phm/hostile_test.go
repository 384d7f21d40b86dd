// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// An entry of a ZIP made by hand.
type entry struct {
	name   string
	body   string
	mode   fs.FileMode
	change func(*zip.FileHeader)
}

// makeZip writes entries as they are, however hostile.
func makeZip(t testing.TB, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		if strings.HasSuffix(e.name, "/") {
			h.Method = zip.Store
		}
		if e.change != nil {
			e.change(h)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entriesOf returns the entries of a whole archive of tree.
func entriesOf(tree fstest.MapFS) []entry {
	var es []entry
	for _, name := range wantOrder(tree) {
		es = append(es, entry{name: name, body: string(tree[name].Data)})
	}
	return es
}

// central calls f with the central directory record of each entry.
func central(archive []byte, f func(name string, record []byte)) []byte {
	archive = slices.Clone(archive)
	end := bytes.LastIndex(archive, []byte("PK\x05\x06"))
	at := int(binary.LittleEndian.Uint32(archive[end+16:]))
	for at < end {
		n := int(binary.LittleEndian.Uint16(archive[at+28:]))
		m := int(binary.LittleEndian.Uint16(archive[at+30:]))
		f(string(archive[at+46:at+46+n]), archive[at:at+46+n+m])
		at += 46 + n + m + int(binary.LittleEndian.Uint16(archive[at+32:]))
	}
	return archive
}

func patch32(name string, offset int, value uint32) func([]byte) []byte {
	return func(archive []byte) []byte {
		return central(archive, func(n string, record []byte) {
			if n == name {
				binary.LittleEndian.PutUint32(record[offset:], value)
			}
		})
	}
}

const (
	cdCreator, cdFlags, cdMethod, cdCompressed, cdSize, cdOffset = 4, 8, 10, 20, 24, 42
)

// hostile are archives that must be refused before anything is written.
func hostile(t testing.TB) map[string]struct {
	archive []byte
	want    error
	limits  Limits
} {
	type c = struct {
		archive []byte
		want    error
		limits  Limits
	}
	good := func(more ...entry) []byte { return makeZip(t, append(entriesOf(sample(t)), more...)) }
	out := map[string]c{}
	for _, name := range []string{
		"../x", "a/../../x", "/etc/passwd", "C:/x", "c:x", `a\..\x`, `\\host\share\x`, "a//b", "./a", "a/.",
		".bashrc", "docs/.ssh/id", "CON", "docs/nul.txt",
		"a\x00b", "a\nb", "x.", "x ", " x", "a:b", "cafe\u0301", "a\u202eb", "\xff\xfe", "", "web.config",
		"sub/desktop.ini", "PHM.JSON", "phm.json/x", "phm.json/", "Phm.Files/x/y", strings.Repeat("x", 256),
		strings.Repeat("x/", 600) + "x", "../", "a/../../b/",
	} {
		out[fmt.Sprintf("name %.20q", name)] = c{archive: good(entry{name: name, body: ""}), want: ErrPath}
	}
	for name, e := range map[string]entry{
		"symlink":   {name: "l", body: "/etc/passwd", mode: fs.ModeSymlink | 0o777},
		"device":    {name: "l", mode: fs.ModeDevice | 0o777},
		"fifo":      {name: "l", mode: fs.ModeNamedPipe | 0o777},
		"directory": {name: "l", mode: fs.ModeDir | 0o777},
		"not UTF-8": {name: "é", change: func(h *zip.FileHeader) { h.NonUTF8 = true }},
	} {
		out[name] = c{archive: good(e), want: ErrUnsafe}
	}
	for name, more := range map[string]string{
		"same name":                        "index.html",
		"other case":                       "Index.HTML",
		"other case of a directory's file": "DOCS/A.html",
		"file for directory":               "docs",
		"directory for file":               "index.html/x",
		"second phm.json":                  MetaName,
		"second phm.files":                 FilesName,
	} {
		out[name] = c{archive: good(entry{name: more}), want: ErrTaken}
	}
	whole := pack(t, sample(t))
	var cssAt uint32
	central(whole, func(n string, record []byte) {
		if n == "style.css" {
			cssAt = binary.LittleEndian.Uint32(record[cdOffset:])
		}
	})
	for name, change := range map[string]func([]byte) []byte{
		"overlap":                patch32("index.html", cdOffset, cssAt),
		"encrypted":              patch32("index.html", cdFlags, 1|uint32(zip.Deflate)<<16),
		"method":                 patch32("index.html", cdFlags, 12<<16),
		"beyond the end":         patch32("index.html", cdCompressed, 1<<30),
		"more than deflate can":  patch32("style.css", cdSize, 1<<31),
		"stored with two sizes":  patch32("img/a.png", cdSize, 1),
		"offset outside archive": patch32("index.html", cdOffset, 1<<30),
	} {
		out[name] = c{archive: change(whole), want: ErrUnsafe}
	}
	noise := make([]byte, 80<<10)
	rnd := rand.NewChaCha8([32]byte{})
	rnd.Read(noise)
	out["ratio"] = c{
		archive: patch32("zeros.bin", cdSize, 80<<20)(good(entry{name: "zeros.bin", body: string(noise)})),
		want:    ErrUnsafe,
	}
	out["file limit"] = c{archive: whole, want: ErrUnsafe, limits: Limits{File: 100}}
	out["total limit"] = c{archive: whole, want: ErrUnsafe, limits: Limits{Total: 4000}}
	out["entries limit"] = c{archive: whole, want: ErrUnsafe, limits: Limits{Entries: 3}}
	out["directory budget"] = c{
		archive: makeZip(t, slices.Repeat([]entry{{name: strings.Repeat("n", 60_000)}}, 30)),
		want:    ErrUnsafe,
		limits:  Limits{Entries: 1},
	}
	out["unlisted"] = c{archive: good(entry{name: "virus.exe", body: "MZ"}), want: ErrDamaged}
	out["missing"] = c{archive: makeZip(t, entriesOf(sample(t))[:5]), want: ErrDamaged}
	out["other size"] = c{archive: makeZip(t, func() []entry {
		es := entriesOf(sample(t))
		es[2].body += "x"
		return es
	}()), want: ErrDamaged}
	out["no phm.json"] = c{archive: makeZip(t, entriesOf(sample(t))[1:]), want: ErrNotPHM}
	out["no phm.files"] = c{archive: makeZip(t, slices.Delete(entriesOf(sample(t)), 1, 2)), want: ErrNotPHM}
	out["no ZIP"] = c{archive: []byte("<html>404"), want: ErrNotPHM}
	out["empty"] = c{archive: nil, want: ErrNotPHM}
	out["cut short"] = c{archive: whole[:len(whole)-30], want: ErrNotPHM}
	edit := func(name, old, now string) []byte {
		tree := sample(t)
		if name == FilesName { // its digest is another matter
			var m map[string]any
			if err := json.Unmarshal(tree[MetaName].Data, &m); err != nil {
				t.Fatal(err)
			}
			delete(m, "tableSHA256")
			tree[MetaName].Data, _ = json.Marshal(m)
		}
		tree[name].Data = bytes.Replace(tree[name].Data, []byte(old), []byte(now), 1)
		return makeZip(t, entriesOf(tree))
	}
	out["newer"] = c{archive: edit(MetaName, `"phm": 1`, `"phm": 2`), want: ErrNewer}
	out["entry not listed"] = c{archive: edit(MetaName, `"index.html"`, `"other.html"`), want: ErrDamaged}
	for name, primary := range hostilePrimaries() {
		out["primary: "+name] = c{
			archive: edit(MetaName, `"files": 7`, `"primary": "`+primary+`", "files": 7`),
			want:    ErrUnsafe,
		}
	}
	for _, origin := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "/docs/", "",
	} {
		out["origin "+origin] = c{archive: edit(MetaName, `"https://h.example/"`, `"`+origin+`"`), want: ErrUnsafe}
	}
	for _, entry := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "http://169.254.169.254/", "../index.html",
		"https:index.html", "",
	} {
		out["entry "+entry] = c{
			archive: edit(MetaName, `"entry": "index.html"`, `"entry": "`+entry+`"`),
			want:    ErrPath,
		}
	}
	for name, u := range map[string]string{
		"script":      "javascript:alert(1)",
		"file":        "file:///etc/passwd",
		"relative":    "/index.html",
		"credentials": "ftp://u:p@h.example/",
	} {
		out["table: URL of a "+name] = c{
			archive: edit(FilesName, `"url":"https://h.example/style.css"`, `"url":"`+u+`"`),
			want:    ErrTable,
		}
	}
	out["counts"] = c{archive: edit(MetaName, `"files": 7`, `"files": 8`), want: ErrDamaged}
	out["table: digest"] = c{archive: edit(MetaName, `"tableSHA256": "`, `"tableSHA256": "0`), want: ErrDamaged}
	out["table: escape"] = c{
		archive: edit(FilesName, `"path":"style.css"`, `"path":"../style.css"`),
		want:    ErrPath,
	}
	out["table: bad line"] = c{
		archive: edit(FilesName, `{"path":"style.css"`, `"path":"style.css"`),
		want:    ErrTable,
	}
	return out
}

// hostilePrimaries are values of phm.json's primary that no program may request, in a set whose
// files are all of https://h.example.
func hostilePrimaries() map[string]string {
	return map[string]string{
		"script": "javascript:alert(1)", "file": "file:///etc", "data": "data:text/html,x",
		"other scheme": "ftp://h.example", "no scheme": "h.example", "relative": "//h.example",
		"path": "https://h.example/docs", "slash": "https://h.example/", "query": "https://h.example?x",
		"credentials": "https://u:p@h.example", "case": "HTTPS://h.example",
		"spelling": "https://H.example", "default port": "https://h.example:443", "blank": " https://h.example",
		"backslash":     `https:\\\\h.example`,
		"metadata IPv4": "http://169.254.169.254", "metadata in hex": "http://0xa9fea9fe",
		"metadata mapped": "http://[::ffff:169.254.169.254]", "metadata IPv6": "http://[fd00:ec2::254]",
		"metadata by name":          "http://metadata.google.internal",
		"metadata of another cloud": "http://100.100.100.200",
		"another site":              "https://elsewhere.example", "another port": "https://h.example:8500",
		"a longer name": "https://h.example.evil.example", "a shorter name": "https://h.exampl",
		"local service": "http://127.0.0.1:8500", "part of the name": "https://example",
	}
}

// TestUnpackRefuses: a hostile or broken archive is refused with a typed error, and not one file of it is
// written.
func TestUnpackRefuses(t *testing.T) {
	for name, c := range hostile(t) {
		sink, err := unpack(t, c.archive, c.limits)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if len(sink.order) > 0 {
			t.Errorf("%s: %q were written", name, sink.order)
		}
	}
}

// TestUnpackLies: what only reading can find out fails, and phm.json, which would make a PHM of the rest, is
// not written.
func TestUnpackLies(t *testing.T) {
	body := func(change func(string) string) []byte {
		es := entriesOf(sample(t))
		for i := range es {
			if es[i].name == "docs/index.html" {
				es[i].body = change(es[i].body)
			}
		}
		return makeZip(t, es)
	}
	whole := pack(t, sample(t))
	crc := patch32("index.html", 16, 0xdeadbeef)(whole)
	longer := bytes.Index(whole, []byte("style.css"))
	spoilt := slices.Clone(whole)
	spoilt[longer+40] ^= 0x55
	// The body holds more than the size that archive and table state.
	lying := patch32("docs/index.html", cdSize,
		uint32(len(sampleBodies()["docs/index.html"])))(body(func(s string) string {
		return s + strings.Repeat("more", 1000)
	}))
	for name, archive := range map[string][]byte{
		"digest":           body(func(s string) string { return strings.Replace(s, "text", "TEXT", 1) }),
		"checksum":         crc,
		"flipped bit":      spoilt,
		"more than stated": lying,
	} {
		sink, err := unpack(t, archive, Limits{})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, ok := sink.files[MetaName]; ok {
			t.Errorf("%s: %s was written", name, MetaName)
		}
		for path, f := range sink.files {
			if len(f.Data) > 1<<20 {
				t.Errorf("%s: %s has %d bytes", name, path, len(f.Data))
			}
		}
	}
}
