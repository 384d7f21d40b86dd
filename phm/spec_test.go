// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestSpecification holds docs/phm.md to the code: the table of names, the samples, and the member tables.
func TestSpecification(t *testing.T) {
	doc, err := os.ReadFile("../docs/phm.md")
	if err != nil {
		t.Fatal(err)
	}
	after := func(mark string) string {
		_, rest, ok := strings.Cut(string(doc), mark)
		if !ok {
			t.Fatalf("the page has no %q", mark)
		}
		return rest
	}
	section := func(mark, end string) string { s, _, _ := strings.Cut(after(mark), end); return s }

	l := Layout{Primary: "https://h.example"}
	rows := 0
	for line := range strings.Lines(section("TestSpecification: names -->", "\n\n")) {
		cells := strings.Split(line, "`")
		if len(cells) != 7 {
			continue
		}
		rows++
		if got := l.Preferred(mustURL(t, cells[1]), cells[3]); got != cells[5] {
			t.Errorf("%s of %s: the page says %q, the code %q", cells[1], cells[3], cells[5], got)
		}
	}
	if rows < 20 {
		t.Errorf("only %d names were found", rows)
	}

	sample := func(name string) string {
		_, s, _ := strings.Cut(after("TestSpecification: "+name+" -->"), "```json\n")
		s, _, _ = strings.Cut(s, "```")
		return s
	}
	meta := sample(MetaName)
	m, err := ReadMeta(strings.NewReader(meta))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteMeta(&b, m); err != nil || b.String() != meta || m.Extra != nil {
		t.Errorf("the sample of %s is not as it is written: %v\n%s", MetaName, err, b.String())
	}
	table := sample(FilesName)
	b.Reset()
	w := NewFilesWriter(&b)
	for f, err := range Files(strings.NewReader(table)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Finish()
	if err != nil || b.String() != table {
		t.Errorf("the sample of %s is not as it is written: %v\n%s", FilesName, err, b.String())
	}
	if sum.Files != m.Files || sum.Bytes != m.Bytes || !reflect.DeepEqual(sum.Types, m.Types) {
		t.Errorf("the samples disagree: %+v, %+v", sum, m)
	}

	for _, c := range []struct{ from, list string }{
		{section("## 5.", "## 6."), metaFields}, {section("## 6.", "### Declared"), fileFields},
	} {
		documented := map[string]bool{}
		for line := range strings.Lines(c.from) {
			cells := strings.Split(line, "|")
			if len(cells) < 3 {
				continue
			}
			for i, name := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					documented[strings.ToLower(name)] = true
				}
			}
		}
		for _, name := range strings.Fields(c.list) {
			if !documented[name] {
				t.Errorf("member %q is not documented", name)
			}
			delete(documented, name)
		}
		if len(documented) > 0 {
			t.Errorf("documented and unknown: %v", documented)
		}
	}
	for _, figure := range []string{
		fmt.Sprintf("format version %d", FormatVersion), fmt.Sprintf("%d bytes of UTF-8", MaxPath),
		fmt.Sprintf("1 to %d bytes", MaxSegment),
		fmt.Sprintf("more than %d bytes is cut", maxQuery), fmt.Sprintf("at most %d MiB.", maxMeta>>20),
		fmt.Sprintf("at most %d MiB a line", maxLine>>20), fmt.Sprintf("beyond %d types", maxTypes),
	} {
		if !strings.Contains(string(doc), figure) {
			t.Errorf("the page does not say %q", figure)
		}
	}
}

// TestSampleArchive: an archive of format version 1, kept as it was written first, is still read.
func TestSampleArchive(t *testing.T) {
	archive, err := os.ReadFile("testdata/version1.phm")
	if err != nil {
		t.Fatal(err)
	}
	report, err := verifyArchive(bytes.NewReader(archive), int64(len(archive)), Limits{}, VerifyOptions{
		Links:  toyLinks,
		Linked: toyLinked,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil || report.Files != 7 || report.Meta.Title != "A <test> & more" {
		t.Errorf("%v, %+v", err, report)
	}
	sink, err := unpack(t, archive, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, sample(t))
}
