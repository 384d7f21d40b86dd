// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

var (
	mapped   = regexp.MustCompile(`\\"([^"\\]+)\.md\\":`)
	said     = regexp.MustCompile(`\\"([^"\\]+)\\"`)
	leanPage = regexp.MustCompile(`<link rel="?modulepreload"? href="?([^">]*\.md\.[\w-]+)\.lean\.js`)
	listed   = regexp.MustCompile(`,"url":"/([^"\\]+\.html)"`)
)

// vitepressLoads are the script of a page of VitePress that has its text, which is loaded when a link leads
// there, and on the first page those of the other pages that the site has: some themes list them by scripts.
//
// A map has their names in lower case with "_" for each slash. The settings of the site, with its menus,
// name most of them as they are; of the others a "_" is read as a slash. Without ".html" a guess would be
// no page.
func vitepressLoads(page []byte) []string {
	refs := within(page, leanPage, ".js")
	if len(refs) == 0 || !strings.Contains(refs[0], "/index.md.") ||
		bytes.Contains(page, []byte(`\"cleanUrls\":true`)) {
		return refs
	}
	_, names, _ := bytes.Cut(page, []byte("__VP_HASH_MAP__"))
	names, settings, _ := bytes.Cut(names, []byte("__VP_SITE_DATA__"))
	names, _, _ = bytes.Cut(names, []byte("}"))
	settings, _, _ = bytes.Cut(settings, []byte("</script>"))
	exact := map[string]string{}
	for _, m := range said.FindAllSubmatch(settings, mostLoads) {
		name := strings.TrimSuffix(strings.Trim(string(m[1]), "/"), ".html")
		exact[strings.ToLower(strings.ReplaceAll(name, "/", "_"))] = name
	}
	escape := strings.NewReplacer("%", "%25", "#", "%23", "?", "%3F")
	for _, m := range mapped.FindAllSubmatch(names, mostLoads) {
		name, ok := exact[string(m[1])]
		if !ok {
			name = strings.ReplaceAll(string(m[1]), "_", "/")
		}
		if path.Base(name) != "index" {
			refs = append(refs, "./"+escape.Replace(name)+".html")
		}
	}
	return refs
}

// contents returns the pages that a script of VitePress lists which a loader of contents made, such as those
// of a blog.
func contents(b *Body) (refs []string) {
	if !bytes.Contains(b.Data, []byte(`"frontmatter":{`)) {
		return nil
	}
	above, _, ok := strings.Cut(b.URL.Path(), "/assets/")
	if !ok {
		return nil
	}
	escape := strings.NewReplacer("#", "%23", "?", "%3F")
	for _, m := range listed.FindAllSubmatch(b.Data, mostLoads) {
		refs = append(refs, above+"/"+escape.Replace(string(m[1])))
	}
	return refs
}
