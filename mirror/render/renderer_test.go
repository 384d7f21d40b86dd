// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// oneFrame gives the same document for every place.
type oneFrame struct{ frame bodies.Frame }

func (o oneFrame) ReadFrame(*bodies.FrameReader, record.Place) (bodies.Frame, error) {
	return o.frame, nil
}

// oneFile keeps the data written to it.
type oneFile struct {
	path     string
	data     []byte
	streamed bool
}

func (o *oneFile) Write(path string, data []byte, _ time.Time) error {
	o.path, o.data = path, slices.Clone(data)
	return nil
}

func (o *oneFile) Stream(path string, _ time.Time, write func(io.Writer) error) error {
	var buf bytes.Buffer
	err := write(&buf)
	o.path, o.data, o.streamed = path, buf.Bytes(), true
	return err
}

// renderer returns a Renderer of a mirror in which dir/page.html is the page with a body, and other.html
// another one, the target of a redirect.
func renderer(t *testing.T, body string) (*Renderer, *record.Resource) {
	t.Helper()
	table := urls.New().Settled()
	table.Reserve(3)
	rec := &record.Resource{
		URL:    site.Canonical("http://h.example/dir/page?x"),
		InSet:  true,
		Path:   "dir/page.html",
		MIME:   "text/html",
		Size:   int64(len(body)),
		Digest: sha256.Sum256([]byte(body)),
		Body:   record.PackBody,
	}
	for _, r := range []*record.Resource{
		rec,
		{ID: 1, URL: site.Canonical("http://h.example/other.html"), InSet: true, Path: "other.html"},
		{ID: 2, URL: site.Canonical("http://h.example/old"), Outcome: site.Redirected, Target: 1 + 1},
	} {
		table.Load(r, urls.Run{Number: 2, Version: 2})
	}
	var doc relocate.Doc
	if err := doc.Scan([]byte(body), relocate.Input{URL: rec.URL, Format: relocate.HTML}); err != nil {
		t.Fatal(err)
	}
	links := AppendLinks(nil, &doc, func(i int) (uint32, bool) { return table.Find(doc.Links[i].URL) })
	return &Renderer{Table: table, Frames: oneFrame{bodies.Frame{Links: links, Body: []byte(body)}}}, rec
}

// render makes the file of the page and returns its line.
func render(t *testing.T, r *Renderer, rec *record.Resource) (phm.File, *oneFile) {
	t.Helper()
	f, err := r.Line(rec, rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := r.Splicer().Document(rec, &f)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	w := new(oneFile)
	if err := doc.WriteFile(w); err != nil {
		t.Fatal(err)
	}
	d := sha256.Sum256(w.data)
	if f.SHA256 != hex.EncodeToString(d[:]) || f.Size != int64(len(w.data)) || w.path != rec.Path {
		t.Errorf("the line says %s, %d bytes of %q", f.SHA256, f.Size, w.data)
	}
	return f, w
}

const linkedBody = `<a href="/other.html">1</a><a href="../old#x">2</a><a href="/away">3</a>` +
	`<a href="http://far.example/gone">4</a><img src=http://far.example/gone>`

func TestRender(t *testing.T) {
	want := `<a href="../other.html">1</a><a href="../other.html#x">2</a><a href="http://h.example/away">3</a>` +
		`<a href="FAR">4</a><img src=http://far.example/gone>`
	r, rec := renderer(t, linkedBody)
	f, w := render(t, r, rec)
	as := strings.Replace(want, "FAR", "http://far.example/gone", 1)
	if string(w.data) != as || w.streamed || CountRepairs(&f) != 0 {
		t.Errorf("%s, %+v", w.data, f)
	}

	// A link that is repaired is in the line, and is found again by it.
	r.Cures = map[string]Cure{"http://far.example/gone": {To: "http://copy.example/gone", Why: "test"}}
	f, w = render(t, r, rec)
	links, err := RepairsOf(&f)
	as = strings.Replace(want, "FAR", "http://copy.example/gone", 1)
	if string(w.data) != as || err != nil || len(links) != 1 {
		t.Errorf("%s, %v, %v", w.data, links, err)
	}
	if CountRepairs(&f) != 1 || !r.Splicer().RepairedAlike(rec, links) || r.Splicer().RepairedAlike(rec, nil) {
		t.Errorf("%+v", f)
	}
}

// A large document is streamed, and comes out as a small one does.
func TestRenderLarge(t *testing.T) {
	_, small := renderBody(t, linkedBody)
	filler := strings.Repeat("<p>filler</p>\n", SmallDocument/14+1)
	_, large := renderBody(t, linkedBody+filler)
	if !large.streamed || string(large.data) != string(small.data)+filler {
		t.Errorf("%d bytes, streamed %v", len(large.data), large.streamed)
	}
}

// asked counts the calls of names.
type asked struct {
	Names
	n int
}

func (a *asked) Final(id uint32) (uint32, bool) {
	a.n++
	return a.Names.Final(id)
}

// A large document is relocated once, and once more only if its line is needed before.
func TestRenderLargeOnce(t *testing.T) {
	r, rec := renderer(t, linkedBody+strings.Repeat("<p>filler</p>\n", SmallDocument/14+1))
	names := &asked{Names: r.Table}
	r.Table = names
	once, _ := render(t, r, rec)
	n := names.n
	f, err := r.Line(rec, rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := r.Splicer().Document(rec, &f)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Close()
	if err := doc.Complete(); err != nil || names.n != 2*n || !SameFile(&f, &once) {
		t.Errorf("%v, %d looks, first %d; %+v, want %+v", err, names.n, n, f, once)
	}
	if err := doc.WriteFile(new(oneFile)); err != nil || names.n != 3*n || len(f.Edits) != len(once.Edits) {
		t.Errorf("%v, %d looks, first %d; %+v, want %+v", err, names.n, n, f, once)
	}
}

func renderBody(t *testing.T, body string) (phm.File, *oneFile) {
	r, rec := renderer(t, body)
	return render(t, r, rec)
}

// A file says where its bytes come from, and which URLs share it.
func TestLine(t *testing.T) {
	r, rec := renderer(t, "x")
	rec.Source = "http://replica.example/page"
	r.Shared = Shared{rec.ID: {"http://h.example/dir/"}}
	f, err := r.Line(rec, rec.Path)
	source := string(f.Extra[phm.SourceField])
	if err != nil || source != `"http://replica.example/page"` || !r.Shared.Fits(&f, rec.ID) {
		t.Errorf("%+v, %v", f, err)
	}
	r.Own = func(*record.Resource) bool { return true }
	if f, err = r.Line(rec, rec.Path); err != nil || f.Extra[phm.SourceField] != nil {
		t.Errorf("%+v, %v", f, err)
	}
}
