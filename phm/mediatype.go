// SPDX-License-Identifier: Apache-2.0

package phm

import "strings"

// A media says which extensions servers map to a type, or to one that serves as well.
type media struct {
	ext  string // canonical extension, with dot; given to names that have none
	keep string // accepted extensions as " a b c "; "*" accepts every one
}

// Groups of extensions that are as good as each other: browsers tell raster images, fonts, sound and film by
// content.
const (
	rasters = " png apng jpg jpeg jpe jfif pjpeg pjp gif webp avif bmp dib ico cur tif tiff heic heif jxl jp2 "
	fonts   = " woff woff2 ttf ttc otf eot "
	films   = " mp4 m4v m4s webm ogv ogg oga opus mov qt avi mkv mpg mpeg m2ts 3gp wmv flv " +
		"mp3 m4a wav flac aac weba mid midi "
	scripts = " js mjs cjs "
	jsons   = " json map webmanifest geojson topojson jsonld jsonc har ipynb avsc "
	xmls    = " xml xsl xslt xsd rng rss atom rdf owl wsdl opml kml gpx svg mathml mml plist xhtml xht xul " +
		"xbl dtd ent mod xmi xlf xliff tei dita ditamap pom nuspec resx ncx opf "
)

// mediaOf returns the known extensions of a MIME type. ok is false for an unknown type and for those
// that say nothing of what the bytes are: no name is changed for them.
func mediaOf(mime string) (m media, ok bool) {
	switch essence(mime) {
	case "text/html":
		return media{".html", " html htm "}, true
	case "application/xhtml+xml": // in practice written to be served as text/html too
		return media{".xhtml", " xhtml xht html htm xml "}, true
	case "text/css":
		return media{".css", " css "}, true
	case "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
		"application/ecmascript":
		return media{".js", scripts}, true
	case "application/json", "text/json":
		return media{".json", jsons}, true
	case "application/ld+json":
		return media{".jsonld", jsons}, true
	case "application/manifest+json":
		return media{".webmanifest", jsons}, true
	case "application/geo+json":
		return media{".geojson", jsons}, true
	case "application/xml", "text/xml":
		return media{".xml", xmls}, true
	case "application/rss+xml":
		return media{".rss", xmls}, true
	case "application/atom+xml":
		return media{".atom", xmls}, true
	case "application/rdf+xml":
		return media{".rdf", xmls}, true
	case "image/svg+xml":
		return media{".svg", " svg "}, true
	case "image/png":
		return media{".png", rasters}, true
	case "image/jpeg", "image/jpg", "image/pjpeg":
		return media{".jpg", rasters}, true
	case "image/gif":
		return media{".gif", rasters}, true
	case "image/webp":
		return media{".webp", rasters}, true
	case "image/avif":
		return media{".avif", rasters}, true
	case "image/apng":
		return media{".png", rasters}, true
	case "image/bmp", "image/x-ms-bmp":
		return media{".bmp", rasters}, true
	case "image/x-icon", "image/vnd.microsoft.icon":
		return media{".ico", rasters}, true
	case "image/tiff":
		return media{".tif", rasters}, true
	case "image/heic":
		return media{".heic", rasters}, true
	case "image/jxl":
		return media{".jxl", rasters}, true
	case "font/woff", "application/font-woff", "application/x-font-woff":
		return media{".woff", fonts}, true
	case "font/woff2", "application/font-woff2":
		return media{".woff2", fonts}, true
	case "font/ttf", "font/sfnt", "application/x-font-ttf", "application/font-sfnt":
		return media{".ttf", fonts}, true
	case "font/otf", "application/x-font-otf", "application/x-font-opentype":
		return media{".otf", fonts}, true
	case "application/vnd.ms-fontobject":
		return media{".eot", fonts}, true
	case "video/mp4":
		return media{".mp4", films}, true
	case "video/webm":
		return media{".webm", films}, true
	case "video/ogg":
		return media{".ogv", films}, true
	case "video/quicktime":
		return media{".mov", films}, true
	case "video/mpeg":
		return media{".mpg", films}, true
	case "audio/mpeg", "audio/mp3":
		return media{".mp3", films}, true
	case "audio/mp4", "audio/x-m4a":
		return media{".m4a", films}, true
	case "audio/ogg", "application/ogg":
		return media{".ogg", films}, true
	case "audio/wav", "audio/x-wav", "audio/wave":
		return media{".wav", films}, true
	case "audio/flac", "audio/x-flac":
		return media{".flac", films}, true
	case "audio/aac":
		return media{".aac", films}, true
	case "audio/webm":
		return media{".weba", films}, true
	case "application/pdf", "application/x-pdf":
		return media{".pdf", " pdf "}, true
	case "application/wasm":
		return media{".wasm", " wasm "}, true
	// What follows is read as it is or stored: its names are well known by any extension.
	case "text/csv":
		return media{".csv", "*"}, true
	case "text/vtt":
		return media{".vtt", "*"}, true
	case "text/calendar":
		return media{".ics", "*"}, true
	case "text/markdown":
		return media{".md", "*"}, true
	case "application/zip", "application/x-zip-compressed":
		return media{".zip", "*"}, true
	case "application/gzip", "application/x-gzip":
		return media{".gz", "*"}, true
	case "application/x-tar":
		return media{".tar", "*"}, true
	case "application/x-xz":
		return media{".xz", "*"}, true
	case "application/x-bzip2":
		return media{".bz2", "*"}, true
	case "application/zstd":
		return media{".zst", "*"}, true
	case "application/x-7z-compressed":
		return media{".7z", "*"}, true
	case "application/epub+zip":
		return media{".epub", "*"}, true
	case "application/postscript":
		return media{".ps", "*"}, true
	case "application/rtf", "text/rtf":
		return media{".rtf", "*"}, true
	case "application/msword":
		return media{".doc", "*"}, true
	case "application/vnd.ms-excel":
		return media{".xls", "*"}, true
	case "application/vnd.ms-powerpoint":
		return media{".ppt", "*"}, true
	case "application/java-archive":
		return media{".jar", "*"}, true
	}
	switch e := essence(mime); {
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
	if word == "" || len(word) > 16 {
		return false
	}
	var b [18]byte
	b[0] = ' '
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		} else if c == ' ' {
			return false
		}
		b[i+1] = c
	}
	b[len(word)+1] = ' '
	return strings.Contains(list, string(b[:len(word)+2]))
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
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
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
