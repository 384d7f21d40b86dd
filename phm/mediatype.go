// SPDX-License-Identifier: Apache-2.0

package phm

import (
	_ "embed"
	"strings"
)

// A media says which extensions servers map to a type, or to one that serves as well.
type media struct {
	ext  string // canonical extension, with dot; given to names that have none
	keep string // accepted extensions as " a b c "; "*" accepts every one
}

//go:embed mediatypes.txt
var mediaFile string

// medias are the media of MIME types.
var medias = readMedias()

func readMedias() map[string]media {
	all, groups := map[string]media{}, map[string]string{}
	for line := range strings.Lines(mediaFile) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		keep := f[1]
		if of := groups[keep]; of != "" {
			keep = of
		} else if keep != "*" {
			keep = " " + strings.ReplaceAll(keep, ",", " ") + " "
		}
		if f[0][0] == '$' {
			groups[f[0]] = keep
		}
		for _, mime := range f[2:] {
			all[mime] = media{f[0], keep}
		}
	}
	return all
}

// mediaOf returns the known extensions of a MIME type. ok is false for an unknown type and for those
// that say nothing of what the bytes are: no name is changed for them.
func mediaOf(mime string) (m media, ok bool) {
	e := essence(mime)
	if m, ok = medias[e]; ok {
		return m, true
	}
	switch {
	case strings.HasSuffix(e, "+json"):
		return media{".json", "*"}, true
	case strings.HasSuffix(e, "+xml"):
		return media{".xml", "*"}, true
	}
	return media{}, false
}

// essence returns a MIME type in lower case and without parameters.
func essence(mime string) string {
	if i := strings.IndexByte(mime, ';'); i >= 0 {
		mime = mime[:i]
	}
	return strings.ToLower(strings.TrimSpace(mime))
}

// forcedExtension returns the extension to append to a name so that a static server serves it as mime, or ""
// when the name does that as it stands.
//
//   - A known type keeps an extension that servers map to it; any other gets the type's own: x.php of HTML is
//     x.php.html.
//   - text/plain and unknown types change no name: foo.patch, LICENSE and Makefile stay. Browsers show text
//     without a type; a server with another default type needs `default_type text/plain`.
//   - But text/plain that is named as a page gets .txt: browsers show its source, with no link in it, and a
//     copy of that name would be shown as a page whose links were not relocated.
//   - An extension that servers run (.php, .jsp, .shtml and their like) never stays last, regardless of the
//     type.
func forcedExtension(name, mime string) string {
	ext := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		ext = name[i+1:]
	}
	if mime == "text/html" && (ext == "html" || ext == "htm") {
		return ""
	}
	m, known := mediaOf(mime)
	switch {
	case executed(ext):
		if known {
			return m.ext
		}
		if strings.HasPrefix(essence(mime), "text/") {
			return ".txt"
		}
		return ".bin"
	case (essence(mime) == "text/plain") && contains(" html htm xhtml xht ", ext):
		return ".txt"
	case !known:
		return ""
	case m.keep == "*":
		if _, e := splitExtension(name); e != "" {
			return ""
		}
		return m.ext
	case contains(m.keep, ext):
		return ""
	}
	return m.ext
}

// indexExtension returns the extension of the file that stands for a directory: index.html, or index with the
// type's own.
func indexExtension(mime string) string {
	if m, ok := mediaOf(mime); ok {
		return m.ext
	}
	switch essence(mime) {
	case "":
		return ".html"
	case "text/plain":
		return ".txt"
	}
	return ""
}

// NeedsName reports whether a type says too little of a file for its extension, so that the name under which
// the server offers it gives it one.
func NeedsName(mime string) bool {
	_, known := mediaOf(mime)
	return !known && essence(mime) != "text/plain"
}

// offeredExtension returns the extension, with its dot, that the name under which a server offers a file
// gives to a file of a type; "" for none. Extensions that servers execute, or that browsers show as a page
// or treat as part of one, are refused.
func offeredExtension(offered, mime string) string {
	_, ext := splitExtension(offered)
	if ext == "" || !NeedsName(mime) || executed(ext[1:]) ||
		contains(" html htm xhtml xht mht mhtml svg svgz css webmanifest ", ext[1:]) {
		return ""
	}
	return ext
}

// executed reports whether common set-ups of Apache, nginx, IIS or a servlet container run a file of this
// extension instead of sending it. A page of the mirror must never become a program of the mirror host.
func executed(ext string) bool {
	return len(ext) >= 3 &&
		contains(
			" php php3 php4 php5 php7 php8 phps pht phtm phtml phar asp aspx asa asax ascx ashx asmx axd cer cdx "+
				"cshtml vbhtml jsp jspx jspf jsw jsv cfm cfml cfc shtml shtm stm cgi fcgi fpl hta htaccess ", ext)
}

// contains reports whether list, words with blanks around each, has word in any case.
func contains(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(list, " "+strings.ToLower(word)+" ")
}

// splitExtension splits a name before its extension: one to sixteen letters and digits, one letter at least,
// after the last dot, with something before it. "v1.2" has none.
func splitExtension(name string) (stem, ext string) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || len(name)-i-1 > 16 {
		return name, ""
	}
	letter := false
	for _, c := range []byte(name[i+1:]) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letter = true
		case c >= '0' && c <= '9':
		default:
			return name, ""
		}
	}
	if !letter {
		return name, ""
	}
	return name[:i], name[i:]
}
