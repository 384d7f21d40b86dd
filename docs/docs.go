// SPDX-License-Identifier: Apache-2.0

// Package docs has the user's guide and the reference, and shows them in a browser.
package docs

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed *.md
var pages embed.FS

// Pages has a file NAME.md for each page, in Markdown as GitHub reads it. Links between pages are relative.
func Pages() fs.FS { return pages }

// First is the page with which a reader begins: the index by question.
const First = "questions"

// Contents are the pages for users, in the order in which they are read.
func Contents() []string {
	return []string{
		First, "install", "first-job", "which-command", "running", "skipping", "living", "troubleshooting",
		"damage", "monitoring", "backup", "takedown", "serve", "archives", "console", "find", "replicas", "cluster",
		"jobs", "commands", "daemon", "api", "json",
	}
}

// Title is the first line of a page, "# Title"; "" for an unknown page.
func Title(page string) string {
	source, err := fs.ReadFile(Pages(), page+".md")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(source), "\n")
	return strings.TrimPrefix(first, "# ")
}

// HTML returns the title and the body of a page for a browser. Links to other pages begin with base, such
// as "/help/"; pictures are left out, and links to files that only the repository has. Each key of a job file
// has an id, as "limits.max_size". The error is fs.ErrNotExist for an unknown page.
func HTML(page, base string) (title, body string, err error) {
	source, err := fs.ReadFile(Pages(), page+".md")
	if err != nil {
		return "", "", err
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := md.Parser().Parse(text.NewReader(source))
	table := ""
	var away []ast.Node // pictures and links to files that only the repository has
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := string(n.Lines().Value(source))
			if n.Level == 1 {
				title = words
			}
			table = ""
			if in, ok := strings.CutPrefix(words, "["); ok {
				table = strings.TrimSuffix(in, "]") + "."
			}
		case *ast.Paragraph:
			if key := describedKey(n, source); key != "" {
				n.SetAttributeString("id", table+key)
			}
		case *ast.Link:
			to, ok := linkTo(string(n.Destination), base)
			if n.Destination = []byte(to); !ok {
				away = append(away, n)
			}
		case *ast.Image:
			n.RemoveChildren(n)
			away = append(away, n)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", "", err
	}
	for _, n := range away {
		for in := n.FirstChild(); in != nil; in = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, in)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
	var b bytes.Buffer
	err = md.Renderer().Render(&b, source, doc)
	return title, scrolled(b.String()), err
}

// scrolled has tables and code scroll by themselves, and by the keyboard. In code < is escaped.
func scrolled(body string) string {
	body = strings.NewReplacer("</table>", "</table></div>", "<pre>", `<pre tabindex="0">`).Replace(body)
	var b strings.Builder
	for i, part := range strings.Split(body, "<table>") {
		if i > 0 {
			fmt.Fprintf(&b, `<div class="wide" tabindex="0" role="region" aria-label="Table %d"><table>`, i)
		}
		b.WriteString(part)
	}
	return b.String()
}

// describedKey is the key of a job file that a paragraph of the reference describes, as in
// "**`title`** · text"; "" for others.
func describedKey(p *ast.Paragraph, source []byte) string {
	strong, ok := p.FirstChild().(*ast.Emphasis)
	if !ok || strong.Level != 2 {
		return ""
	}
	code, ok := strong.FirstChild().(*ast.CodeSpan)
	if !ok {
		return ""
	}
	word, _ := code.FirstChild().(*ast.Text)
	return string(word.Value(source))
}

// linkTo returns where a link of a page leads; false for files that only the repository has.
func linkTo(to, base string) (at string, ok bool) {
	page, fragment, _ := strings.Cut(to, "#")
	name, isPage := strings.CutSuffix(page, ".md")
	switch {
	case page == "" || strings.Contains(page, ":"):
		return to, true
	case !isPage || strings.Contains(name, "/"):
		return "", false
	case fragment != "":
		name += "#" + fragment
	}
	return base + name, true
}
