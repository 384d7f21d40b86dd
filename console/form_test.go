// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// sentForm is a form of a page as a browser sends it.
func sentForm(form *goquery.Selection) url.Values {
	out := url.Values{}
	form.Find("input, textarea, select, button").Each(func(_ int, s *goquery.Selection) {
		name, ok := s.Attr("name")
		value := s.AttrOr("value", "")
		switch goquery.NodeName(s) {
		case "textarea":
			value = strings.ReplaceAll(s.Text(), "\n", "\r\n")
		case "select":
			chosen := s.Find("option[selected]")
			if chosen.Length() == 0 {
				chosen = s.Find("option").First()
			}
			value = chosen.AttrOr("value", chosen.Text())
		}
		if ok {
			out.Add(name, value)
		}
	})
	return out
}

// The form beside the editor changes keys in the text, and nothing that it does not know.
func TestEditForm(t *testing.T) {
	const text = "# ours\nurl = \"https://a.example/\" # first\nscope = \"host\"\n\n" +
		"[limits] # small\nmax_depth = 3\n# not yet: max_files = 3\n[[priority]]\nmatch = [\"/news/**\"]\n"
	b, file := newEditor(t, text)
	const at = "/jobs/site/file"
	edit := func(page string) url.Values {
		return sentForm(parse(t, page).Find("form:has(textarea#text)"))
	}
	untouched := edit(b.want(http.StatusOK, "Common keys", at, nil))
	if got := untouched.Get("f.limits.max_depth") + untouched.Get("f.scope.kind"); got != "3host" {
		t.Errorf("the form shows %q", got)
	}
	b.want(http.StatusOK, "<p>Nothing.</p>", at, untouched)

	form := edit(b.want(http.StatusOK, "", at, nil))
	for key, typed := range map[string]string{
		"limits.max_depth": "", "limits.max_files": "70", "schedule": "@daily", "scope.exclude": "/a/**\r\n/b",
		"polite.delay": "2s", "obey_robots": "false",
	} {
		form.Set("f."+key, typed)
	}
	form.Set("text", strings.Replace(form.Get("text"), "first", "1st", 1)) // and in the text
	page := b.want(http.StatusOK, "Save this", at, form)
	const want = "# ours\nurl = \"https://a.example/\" # 1st\n" +
		"scope = { kind = \"host\", exclude = [\"/a/**\", \"/b\"] }\n" +
		"schedule = \"@daily\"\nobey_robots = false\n\n[limits] # small\nmax_files = 70\n" +
		"# not yet: max_files = 3\n[[priority]]\nmatch = [\"/news/**\"]\n\n[polite]\ndelay = \"2s\"\n"
	if got := strings.ReplaceAll(edit(page).Get("text"), "\r\n", "\n"); got != want {
		t.Errorf("the text became\n%s", got)
	}
	save := sentForm(parse(t, page).Find("form.acts"))
	b.want(http.StatusSeeOther, "?said=changeFile", at, save)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v; on the disk is\n%s", err, got)
	}

	form = edit(b.want(http.StatusOK, "", at, nil))
	form.Set("f.limits.max_files", "many")
	page = b.want(http.StatusUnprocessableEntity, "limits.max_files", at, form)
	if got := edit(page).Get("f.limits.max_files"); got != "many" {
		t.Errorf("what was typed became %q", got)
	}
	form.Set("text", "url = \n")
	b.want(http.StatusUnprocessableEntity, "Mend it first", at, form)
	form.Set("text", "url = \"https://a.example/\"\nlimits = 3\n")
	b.want(http.StatusUnprocessableEntity, "limits", at, form)
	form.Set("text", "url = \"https://a.example/\"\nlimits = { max_depth = 1, # why\n max_files = 2 }\n")
	form.Set("f.limits.max_files", "")
	b.want(http.StatusUnprocessableEntity, "change it in the text", at, form)
}
