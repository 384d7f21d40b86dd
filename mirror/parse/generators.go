// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
)

// Generators of documentation write pages whose scripts put addresses together: of the index of the search,
// of the tree of contents. The loads of such scripts are known for the generators that are widely used, so
// that their search works in a mirror. Each address is a guess: another version may have other files.

// loader is a script of a generator, see generators.toml.
type loader struct {
	Name, Sign string
	Loads      *regexp.Regexp
	Also       []string
	Up         string
}

//go:embed generators.toml
var generatorsFile []byte

var loaders = sync.OnceValue(func() []loader {
	var file struct{ Loaders []loader }
	if err := toml.Unmarshal(generatorsFile, &file); err != nil {
		panic(err)
	}
	return file.Loaders
})

// mostLoads bounds what one document of a generator loads.
const mostLoads = urls.MaxGenerated

// scriptLoads returns what a script of a generator loads, relative to the script.
func scriptLoads(b *Body) (refs []string) {
	name := path.Base(b.URL.Path())
	for _, l := range loaders() {
		if ok, _ := path.Match(l.Name, name); !ok || !bytes.Contains(b.Data, []byte(l.Sign)) {
			continue
		}
		above := ""
		if l.Up != "" && path.Base(path.Dir(b.URL.Path())) == l.Up {
			above = "../"
		}
		if l.Loads != nil {
			for _, m := range l.Loads.FindAllSubmatch(b.Data, mostLoads) {
				refs = append(refs, above+string(m[1]))
			}
		}
		refs = append(refs, l.Also...)
	}
	if name == "searchdata.js" {
		refs = append(refs, sections(b.Data)...)
	}
	refs = append(refs, chunks(b.Data)...)
	if ok, _ := path.Match("root*.js", name); ok {
		refs = append(refs, columns(b.Data)...)
	}
	refs = append(refs, styles(b)...)
	refs = append(refs, contents(b)...)
	refs = append(refs, pagefindBundle(b.Data)...)
	return append(refs, branches(b.Data, name)...)
}

var (
	quotedValues = regexp.MustCompile(`(\d+):\s*"((?:[^"\\]|\\.)*)"`)
	escapedChar  = regexp.MustCompile(`\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)`)
)

// sections returns the files of the search of Doxygen. searchdata.js has the letters of each section; each
// letter has a file with its number.
func sections(data []byte) (refs []string) {
	_, letters, ok := bytes.Cut(data, []byte("indexSectionsWithContent"))
	letters, names, ok2 := bytes.Cut(letters, []byte("indexSectionNames"))
	if !ok || !ok2 {
		return nil
	}
	names, _, _ = bytes.Cut(names, []byte("}"))
	count := map[string]int{}
	for _, m := range quotedValues.FindAllSubmatch(letters, mostLoads) {
		count[string(m[1])] = len([]rune(escapedChar.ReplaceAllString(string(m[2]), "x")))
	}
	for _, m := range quotedValues.FindAllSubmatch(names, mostLoads) {
		for i := range count[string(m[1])] {
			if len(refs) < mostLoads {
				refs = append(refs, fmt.Sprintf("%s_%x.js", m[2], i))
			}
		}
	}
	return refs
}

// branch is an entry of the tree of contents of Doxygen whose children stand in a script of their own:
// ["Classes", "annotated.html", "annotated_dup"].
var branch = regexp.MustCompile(
	`\[\s*"(?:[^"\\]|\\.)*",\s*(?:"(?:[^"\\]|\\.)*"|null),\s*"([\w./-]+)"\s*\]`)

// branches returns the scripts that a part of the tree of contents of Doxygen loads: navtreedata.js, or the
// children of an entry in a file of the entry's name.
func branches(data []byte, name string) (refs []string) {
	stem := strings.TrimSuffix(name, ".js")
	if stem == "navtreedata" {
		if _, index, ok := bytes.Cut(data, []byte("NAVTREEINDEX")); ok {
			index, _, _ = bytes.Cut(index, []byte("]"))
			for i := range min(bytes.Count(index, []byte{'"'})/2, mostLoads) {
				refs = append(refs, fmt.Sprintf("navtreeindex%d.js", i))
			}
		}
	} else if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("var "+stem+" =")) {
		return nil
	}
	for _, m := range branch.FindAllSubmatch(data, mostLoads) {
		refs = append(refs, string(m[1])+".js")
	}
	return refs
}

// spread is a file of Doxygen in one of its many directories (CREATE_SUBDIRS), named from there.
var spread = regexp.MustCompile(`/d[0-9a-f]/d[0-9a-f]{2}(/d[0-9a-f]/d[0-9a-f]{2}/[^/]+)$`)

// fromRoot corrects the address of what a script of Doxygen names in such a directory: all that it names is
// relative to the root of the site.
func fromRoot(u site.URL) site.URL {
	if !spread.MatchString(u.String()) {
		return u
	}
	return site.Canonical(spread.ReplaceAllString(u.String(), "$1"))
}

// begins is how much of a page is looked at for the name of its generator.
const begins = 2048

var (
	configured    = regexp.MustCompile(`"(base|search)":\s*"([^"]*)"`)
	quartoOffset  = regexp.MustCompile(`<meta name="?quarto:offset"? content="?([^">\s]*)`)
	docfxContents = regexp.MustCompile(`<meta name="?docfx:(?:nav|toc)rel"? content="?([^">\s]*)\.html`)
	searchPath    = regexp.MustCompile(`"path":"(/[\w./-]*\.(?:xml|json))"`)
)

// pageLoads returns what the scripts of a generator load on one of its pages, relative to the page.
func pageLoads(b *Body, links []relocate.Link) []string {
	made := generator(b.Data)
	switch {
	case bytes.Contains(made, []byte("rustdoc")):
		return rustdocLoads(b.Data)
	case bytes.Contains(made, []byte("mkdocs-material")):
		return materialLoads(b.Data)
	case bytes.Contains(made, []byte("quarto-")):
		return within(b.Data, quartoOffset, "search.json")
	case bytes.Contains(made, []byte("Hexo")): // its theme NexT
		return within(b.Data, searchPath, "")
	case slices.ContainsFunc(links, isLean): // VitePress
		return vitepressLoads(b.Data)
	case slices.ContainsFunc(links, isStorybook):
		return []string{"iframe.html", "index.json"}
	case bytes.Contains(b.Data[:min(len(b.Data), begins)], []byte("docfx:")):
		return within(b.Data, docfxContents, ".json")
	case bytes.Contains(made, []byte("Doxygen")) && path.Base(path.Dir(b.URL.Path())) == "search":
		return nextResults(path.Base(b.URL.Path()))
	}
	return nil
}

// isStorybook reports whether a link is to a part of Storybook.
func isStorybook(l relocate.Link) bool { return bytes.HasPrefix(l.Ref, []byte("./sb-manager/")) }

// isLean reports whether a link is to the script of a page without its text.
func isLean(l relocate.Link) bool { return bytes.HasSuffix(l.URL, []byte(".lean.js")) }

// generator returns the begin of what names the generator of a page.
func generator(page []byte) []byte {
	page = page[:min(len(page), begins)]
	for rest, ok := page, true; ; {
		var before []byte
		if before, rest, ok = bytes.Cut(rest, []byte("generator")); !ok {
			return nil
		}
		// some sites are minified
		made, quoted := bytes.CutPrefix(rest, []byte{'"'})
		if bytes.HasSuffix(before, []byte(`name=`)) || (quoted && bytes.HasSuffix(before, []byte(`name="`))) {
			return made[:min(len(made), 100)]
		}
	}
}

// headBytes is how much of a page is searched for its head.
const headBytes = 64 << 10

// within returns the first groups of the first matches in the head of a page, each with more behind it.
func within(page []byte, re *regexp.Regexp, more string) (refs []string) {
	for _, m := range re.FindAllSubmatch(page[:min(len(page), headBytes)], 2) {
		refs = append(refs, html.UnescapeString(string(m[1]))+more)
	}
	return refs
}

// bookStyle reports whether an address is that of a style which a page of GitBook or HonKit lists for all
// formats of a book. The styles that the book has are links of the page.
func bookStyle(u site.URL, page []byte) bool {
	dir, name := path.Split(u.Path())
	if path.Ext(name) != ".css" || path.Base(dir) != "styles" {
		return false
	}
	made := generator(page)
	return bytes.Contains(made, []byte("GitBook")) || bytes.Contains(made, []byte("HonKit"))
}

var resultPage = regexp.MustCompile(`^([a-z]+)_([0-9a-f]{1,4})\.html$`)

// nextResults returns the pages after a page of results of Doxygen before 1.9.5, which has one for each
// letter of each section: that of the next letter, and after the first one of all the first ones of the
// sections.
func nextResults(name string) (refs []string) {
	m := resultPage.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	n, _ := strconv.ParseUint(m[2], 16, 16)
	refs = append(refs, fmt.Sprintf("%s_%x.html", m[1], n+1))
	if name == "all_0.html" {
		for _, section := range []string{
			"classes", "files", "functions", "variables", "typedefs", "enums", "enumvalues", "defines",
			"groups", "pages", "namespaces", "related",
		} {
			refs = append(refs, section+"_0.html")
		}
	}
	return refs
}

// materialLoads are the search of Material for MkDocs and its index. A script element of JSON has the base of
// the site.
func materialLoads(page []byte) (refs []string) {
	_, config, ok := bytes.Cut(page, []byte(`id="__config"`))
	if !ok {
		_, config, _ = bytes.Cut(page, []byte(`id=__config `))
	}
	config, _, _ = bytes.Cut(config, []byte("</script>"))
	for _, m := range configured.FindAllSubmatch(config, 2) {
		if string(m[1]) == "search" {
			refs = append(refs, string(m[2]))
		} else {
			refs = append(refs, string(m[2])+"/search/search_index.json")
		}
	}
	return refs
}

// loads makes candidates of what the scripts of a generator load.
func (rd *Reader) loads(b *Body, refs []string) {
	if len(refs) >= mostLoads {
		rd.x.Cut |= result.CutGenerated
	}
	for _, ref := range refs {
		u, _, err := b.URL.Resolve(ref)
		if err != nil {
			continue
		}
		if u = fromRoot(u); !rd.Rules.AllowGuess(u, b.URL) || rd.Tired() {
			continue
		}
		c := scope.Candidate{
			URL:     []byte(u.String()),
			Purpose: scope.Requisite,
			Follow:  true,
			Guess:   true,
		}
		if guessedPage(u) {
			c.Purpose = scope.Page
		}
		rd.x.Candidates = append(rd.x.Candidates, c)
	}
}
