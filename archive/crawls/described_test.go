// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A WACZ of which a file is not what its description says is refused, even when its records are good; with
// Lenient the rest of it is read.
func TestDescribed(t *testing.T) {
	one := plain(page("http://h.test/", day1, "one"))
	other := strings.Replace(one, "one", "two", 1)
	pages := `{"format":"json-pages-1.0"}` + "\n" + `{"url":"http://h.test/","seed":true}`
	index := ""
	for _, file := range []string{"data", "more"} {
		index += fmt.Sprintf(`test,h)/ 20240501100000 {"url":"http://h.test/","offset":"0","length":"%d",`+
			`"filename":"%s.warc"}`+"\n", len(one), file)
	}
	for name, c := range map[string]struct{ file, text, wrong string }{
		"good":        {},
		"records":     {"archive/data.warc", other, "archive/data.warc: it has another digest"},
		"size":        {"pages/pages.jsonl", pages + "\n", "pages/pages.jsonl: it has 65 bytes, not 64"},
		"missing":     {"archive/more.warc", "", "archive/more.warc: it is listed and missing"},
		"description": {"datapackage-digest.json", `{"hash":"sha256:00"}`, "datapackage.json has another digest"},
	} {
		files := map[string]string{"archive/data.warc": one, "archive/more.warc": one, "pages/pages.jsonl": pages,
			"indexes/index.cdxj": index}
		var listed []string
		for _, file := range slices.Sorted(maps.Keys(files)) {
			listed = append(listed, fmt.Sprintf(`{"path":%q,"hash":"sha256:%x","bytes":%d}`, file,
				sha256.Sum256([]byte(files[file])), len(files[file])))
		}
		files["datapackage.json"] = `{"resources":[` + strings.Join(listed, ",") + `]}`
		if c.text != "" {
			files[c.file] = c.text
		} else {
			delete(files, c.file)
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for file, text := range files {
			w, err := z.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, text)
		}
		z.Close()
		_, err := Read(inputs(b.String()), options())
		if (err != nil) != (c.wrong != "") || (err != nil && !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
		var said []string
		o := options()
		o.Lenient, o.Wrong = true, func(err error) { said = append(said, err.Error()) }
		if _, err := Read(inputs(b.String()), o); err != nil {
			t.Errorf("%s, lenient: %v", name, err)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, c.wrong) || (len(said) > 0) != (c.wrong != "") {
			t.Errorf("%s, lenient: %q, want %q", name, said, c.wrong)
		}
	}
}
