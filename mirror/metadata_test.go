// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/phm"
	"mirrord/testing/mirrortest"
)

// phm.json says what the job says of the site, else what the entry page says, and what readers need to open
// the files.
func TestMetadata(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	const meta = `<meta name=author content=Page><meta name=description content="from the page">`
	w.Set(home+"/", mirrortest.HTML("Home", meta+"<a href=a.pdf>a</a>"))
	w.Set(home+"/a.pdf", mirrortest.Page{Body: "pdf"})
	m := mirrortest.New(t, w, job())
	m.Run()
	read := func() *phm.Meta {
		t.Helper()
		got, err := phm.OpenMeta(m.Current().FS())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); !slices.Equal(got.Authors, []string{"Page"}) || got.Abstract != "from the page" {
		t.Errorf("of the page: %+v", got)
	}
	m.SetJob(w, job(`authors = ["Ada", "Ben"]`, `copyright = "© Ada"`, `abstract = "of the job"`))
	w.Set(home+"/a.pdf", mirrortest.Page{Body: "another"})
	m.Run()
	got := read()
	said := fmt.Sprintf("%v, %s, %s, %s", got.Authors, got.Copyright, got.Abstract, got.Title)
	if said != "[Ada Ben], © Ada, of the job, Home" {
		t.Errorf("of the job: %+v", got)
	}
	needs := map[string]string{}
	for _, x := range got.Types {
		needs[x.Type] = x.Format + ": " + x.Needs
	}
	if needs["application/pdf"] != "Portable Document Format: a web browser or a PDF reader" ||
		needs["text/html"] != "web page (HTML): a web browser" {
		t.Errorf("formats: %v", needs)
	}
}
