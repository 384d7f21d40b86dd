// SPDX-License-Identifier: Apache-2.0

package relocate

import "bytes"

// maxScriptURL is the longest string in a script that is looked at, in bytes.
const maxScriptURL = 2048

// refShape says how an address in a script is spelled.
type refShape uint8

const (
	shapeName   refShape = iota // a file's name alone: a.png
	shapeCode                   // the same, of a kind that libraries are named for: vue.js, package.json
	shapePath                   // a path with directories: img/a.png
	shapeDotted                 // one that begins with ./ or ../
	// one that needs no document to be resolved but its origin: /a.png, //host/a.png, http://host/a.png
	shapeRooted
)

// scriptURL reports whether a string is plainly the address of a file: an http or https URL, or a path of URL
// characters without placeholders, whose last segment ends in the extension of something that pages are made
// of. What has no such extension may as well be a base that the script appends to, a route, a name or the
// address of a program.
func scriptURL(s []byte) (shape refShape, ok bool) {
	path := s
	if i := bytes.IndexAny(s, "?#"); i >= 0 {
		if path = s[:i]; !queryLike(s[i:]) {
			return 0, false
		}
	}
	switch {
	case len(path) > 7 && equalFold(path[:7], "http://"), len(path) > 8 && equalFold(path[:8], "https://"),
		bytes.HasPrefix(path, []byte("//")):
		path = path[bytes.Index(path, []byte("//"))+2:]
		host := bytes.IndexByte(path, '/')
		if host <= 0 || !hostLike(path[:host]) {
			return 0, false
		}
		shape, path = shapeRooted, path[host+1:]
	case len(path) > 0 && path[0] == '/':
		shape, path = shapeRooted, path[1:]
	case bytes.HasPrefix(path, []byte("./")), bytes.HasPrefix(path, []byte("../")):
		shape = shapeDotted
	case bytes.IndexByte(path, '/') >= 0:
		shape = shapePath
	}
	last, dot := 0, -1
	for i, c := range path {
		switch {
		case c == '/':
			if i == last {
				return 0, false
			}
			last, dot = i+1, -1
		case c == '.':
			dot = i
		case c == '%':
			if i+2 >= len(path) || digit(path[i+1]) > 15 || digit(path[i+2]) > 15 { // a placeholder, as in %s.png
				return 0, false
			}
		case alnum(c), c == '-', c == '_', c == '~', c == '+', c == '@', c == ',', c == '!', c >= 0x80:
		default:
			return 0, false
		}
	}
	if dot <= last {
		return 0, false
	}
	page, known := fileExtension(lowered(path[dot+1:]))
	if shape == shapeName && !page {
		shape = shapeCode
	}
	return shape, known
}

// fileExtension reports whether ext, in lower case, is one of what pages are made of, and whether a name
// alone with it is more probably a file than the name of a library or of a member.
func fileExtension(ext string) (alone, known bool) {
	switch ext {
	case "html", "htm", "xhtml", "pdf",
		"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "bmp", "cur",
		"woff", "woff2", "ttf", "otf", "eot",
		"mp3", "mp4", "m4a", "m4v", "webm", "ogg", "oga", "ogv", "opus", "wav", "vtt", "swf":
		return true, true
	case "css", "js", "mjs", "json", "xml", "txt", "csv", "wasm", "geojson", "webmanifest":
		return false, true
	}
	return false, false
}

// queryLike reports whether s, a query or fragment, is one to its end: a script may append to what ends in
// "=".
func queryLike(s []byte) bool {
	for _, c := range s {
		if !alnum(c) && c < 0x80 && bytes.IndexByte([]byte("-._~/%+@,!=:&;?#"), c) < 0 {
			return false
		}
	}
	switch s[len(s)-1] {
	case '=', '&', '?', '/', ',', ':', '#':
		return false
	}
	return true
}

func hostLike(s []byte) bool {
	for _, c := range s {
		if !alnum(c) && c != '.' && c != '-' && c != ':' && c < 0x80 {
			return false
		}
	}
	return true
}

// stands reports whether the literal whose opening quote is at quote, and after which p stands, is used as a
// whole and as an address: not joined to something else, compared, or the key of an object.
//
// The strings of an inline script are resolved against the page. Those of a script of its own are, too, but
// against any page that loads it: only targets that are the same from all pages of the origin count, and the
// modules that it imports, which are resolved against the script itself (HTML standard, section 8.1.5.3). A
// script of data lies where its site begins, as a rule, and lists pages from there: the menu of Doxygen, for
// example. page says that the string is named like one; module, that it names a module to import.
func (j *scriptScan) stands(quote int, shape refShape, page bool) (ok, module bool) {
	i := j.last(quote)
	prev := j.at(i)
	next := j.next()
	follows := j.at(next)
	switch follows {
	case '+', '.', '[', '(', '`':
		return false, false
	case '=', '!':
		if j.at(next+1) == '=' {
			return false, false
		}
	case ':':
		if prev == '{' || prev == ',' {
			return false, false
		}
	}
	loads := false // something that loads a file is given it
	switch {
	case prev == '+':
		return false, false
	case prev == '=':
		if b := j.at(i - 1); b == '=' || b == '!' || b == '+' {
			return false, false
		}
		switch string(j.word(j.last(i))) {
		case "src", "href", "location", "poster", "data", "action":
			loads = true
		}
	case prev == ':':
		k := j.last(i)
		if b := j.at(k); b == '"' || b == '\'' {
			k--
		}
		switch string(j.word(k)) {
		case "src", "href", "url", "file", "path", "data":
			loads = true
		}
	case prev == '[':
		if k := j.last(i); k >= 0 && !j.operand(k) && follows == ']' { // a member: x["a.js"]
			return false, false
		}
	case prev == '(':
		switch string(j.word(j.last(i))) {
		case "indexOf", "lastIndexOf", "includes", "startsWith", "endsWith", "match", "test", "replace",
			"replaceAll", "split", "search", "concat",
			"require", "define", "Error", "log", "warn", "error", "alert",
			"initNavTree": // of Doxygen: from the root of the site, to be looked up
			return false, false
		case "register":
			// a service worker would keep the files of one version and show them with those of the next
			return false, false
		case "import":
			module = true
		case "fetch", "Worker", "SharedWorker", "importScripts", "addModule", "getJSON", "getScript", "get", "ajax",
			"load", "loadIndex", "loadScript", "json", "csv", "xml",
			"text", "open", "Audio", "Request", "EventSource":
			loads = true
		}
	case jsClass[prev]&jsWord != 0:
		switch string(j.word(i)) {
		case "from", "import":
			module = true
		case "case":
			return false, false
		}
	}
	switch {
	case shape == shapeRooted, follows == ',' && j.importMeta(next+1):
		return true, module
	case module:
		return shape == shapeDotted, true
	case j.external:
		return j.data && page, false
	}
	return shape != shapeCode || loads, false
}

// isPage reports whether the address of a file is that of a page, by its extension.
func isPage(s []byte) bool {
	if i := bytes.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	switch lowered(s[bytes.LastIndexByte(s, '.')+1:]) {
	case "html", "htm", "xhtml":
		return true
	}
	return false
}

// next returns the position of the first byte at or after p that is neither white space nor comment.
func (j *scriptScan) next() int {
	i := j.p
	for i < len(j.s) {
		switch {
		case j.s[i] <= ' ':
			i++
		case j.s[i] == '/' && j.at(i+1) == '/':
			i = after(j.s, i, '\n')
		case j.s[i] == '/' && j.at(i+1) == '*':
			k := bytes.Index(j.s[i+2:], []byte("*/"))
			if k < 0 {
				return len(j.s)
			}
			i += k + 4
		default:
			return i
		}
	}
	return i
}

// importMeta reports whether "import.meta.url" stands at s[i], as in new URL("a.png", import.meta.url).
func (j *scriptScan) importMeta(i int) bool {
	for j.at(i) == ' ' {
		i++
	}
	return i < len(j.s) && bytes.HasPrefix(j.s[i:], []byte("import.meta.url"))
}

// textOfScript decodes the escapes of a string literal (ECMA-262, section 12.9.4). Octal ones, which no
// address has, become NUL.
func textOfScript(sc *scanner, v view) view {
	d := sc.newDecoder(&v)
	s := v.s
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			d.put(i, s[i])
			i++
			continue
		}
		switch c := s[i+1]; {
		case c == 'u' && i+2 < len(s) && s[i+2] == '{':
			x, k := rune(0), i+3
			for ; k < len(s) && digit(s[k]) < 16 && x <= 0x10ffff; k++ {
				x = x<<4 | digit(s[k])
			}
			if k >= len(s) || s[k] != '}' {
				x, k = 0, i+2
			}
			d.rune(i, x)
			i = k + 1
		case c == 'u':
			r, n := jsonUnicode(s[i:])
			d.rune(i, r)
			i += n
		case c == 'x' && i+3 < len(s) && digit(s[i+2]) < 16 && digit(s[i+3]) < 16:
			d.rune(i, digit(s[i+2])<<4|digit(s[i+3]))
			i += 4
		case c == '\n' || c == '\r': // a line continuation
			i += 2
			if c == '\r' && i < len(s) && s[i] == '\n' {
				i++
			}
		case alnum(c):
			d.put(i, 0)
			i += 2
		default:
			d.put(i, c)
			i += 2
		}
	}
	return d.view(len(s))
}
