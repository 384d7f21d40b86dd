// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
)

func TestTitle(t *testing.T) {
	wide := "\xff\xfe" + strings.Join(strings.Split("<title>wide</title>", ""), "\x00") + "\x00"
	for _, c := range []struct{ page, label, want string }{
		{"<html><head><TITLE lang=de>\n Z&uuml;rich  &amp;\tBern </Title>", "", "Zürich & Bern"},
		{"<meta charset=windows-1252><title>Z\xfcrich</title>", "", "Zürich"},
		{"<title>Z\xfcrich</title>", "", "Zürich"},
		{"<title>Z\xfcrich</title>", "latin1", "Zürich"},
		{"<title>Zürich</title>", "utf-8", "Zürich"},
		{"<title>\x1b$B;y;v\x1b(B</title>", "iso-2022-jp", "児事"},
		{wide, "", "wide"},
		{"<!-- <title>no</title> --><title>yes</title>", "", "yes"},
		{"<script>'<title>no</title>'</script><titles>no</titles><title>yes</title>", "", "yes"},
		{"<!--><title>yes</title>", "", "yes"},
		{"<p>no title", "", ""},
		{"<title>not closed", "", ""},
		{"<title", "", ""},
		{strings.Repeat(" ", 1024) + "<title>a\x00b</title>", "", "ab"},
		{"<title>a\x00b</title>", "", ""}, // no text
		{"<style><title>in a style that is not closed</title>", "", ""},
	} {
		if got := Title([]byte(c.page), c.label); got != c.want {
			t.Errorf("%.60q in %q: %q, want %q", c.page, c.label, got, c.want)
		}
	}
}
