// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
	"strings"
)

// Bundlers split the scripts of a site into parts that are loaded when they are needed, by names that a
// script puts together.

var (
	// a style sheet in the list of what the modules of a script by Vite need
	viteStyle = regexp.MustCompile(`["']([\w@+./~-]+\.css)["']`)
	// such a list of a script, as versions of Vite since 5.0 begin it
	viteList = regexp.MustCompile(
		`(?:__vite__mapDeps\.viteFileDeps|__vite__fileDeps|\bm\.f\|\|\(m\.f) ?= ?\[([^\]]*)\]`)
	// before 5.0 each import has one: import("./a.js"),["./a.js","./a.css"],import.meta.url)
	viteNeeds = regexp.MustCompile(`\),\[((?:"[\w@+./~-]+",?)+)\](?:,import\.meta\.url)?\)`)
)

// styles returns the style sheets that a script by Vite loads with its modules, which fail without. They are
// relative to the script, or to the directory of the site above that of the script.
func styles(b *Body) (refs []string) {
	var lists [][][]byte
	switch {
	case bytes.Contains(b.Data, []byte("__vite__mapDeps")):
		lists = viteList.FindAllSubmatch(b.Data, 1)
	case bytes.Contains(b.Data, []byte("import(")) && bytes.Contains(b.Data, []byte(`.css"`)):
		lists = viteNeeds.FindAllSubmatch(b.Data, mostLoads)
	}
	for _, needs := range lists {
		for _, m := range viteStyle.FindAllSubmatch(needs[1], mostLoads) {
			ref := string(m[1])
			if dir, _, _ := strings.Cut(ref, "/"); !strings.HasPrefix(ref, ".") {
				above, _, _ := strings.Cut(b.URL.Path(), "/"+dir+"/")
				ref = above + "/" + ref
			}
			if len(refs) < mostLoads {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

var (
	// In a script by webpack, the names with and without a list of those of some chunks:
	// "assets/js/"+({1:"name"}[e]||e)+"."+{1:"digest",2:"digest"}[e]+".js"
	// "static/js/"+e+"."+{1:"digest"}[e]+".chunk.js"
	chunkNames = regexp.MustCompile(
		`(?:"([\w./-]+/)"\+)?(?:\(\(?\{([^{}]*)\}\)?\[\w+\]\|\|\w+\)|\b\w)\+"([.-])"\+` +
			`\(?\{([^{}]*)\}\)?\[\w+\]\+"((?:\.chunk)?\.m?js)"`)
	chunkName  = regexp.MustCompile(`(\w+):"([\w~.-]+)"`)
	publicPath = regexp.MustCompile(`\.p="([^"]*/)"`)
)

// chunks returns the scripts that a script by webpack loads when needed, such as those of the pages of
// Docusaurus.
func chunks(script []byte) (refs []string) {
	if !bytes.Contains(script, []byte(`]+".`)) {
		return nil
	}
	at := publicPath.FindSubmatch(script)
	if at == nil {
		return nil
	}
	found := chunkNames.FindSubmatch(script)
	if found == nil {
		return nil
	}
	names := map[string]string{}
	for _, m := range chunkName.FindAllSubmatch(found[2], mostLoads) {
		names[string(m[1])] = string(m[2])
	}
	for _, m := range chunkName.FindAllSubmatch(found[4], mostLoads) {
		name, ok := names[string(m[1])]
		if !ok {
			name = string(m[1])
		}
		ref := string(at[1]) + string(found[1]) + name + string(found[3]) + string(m[2]) + string(found[5])
		refs = append(refs, ref)
	}
	return refs
}
