// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"strings"

	"mirrord/internal/charset"
	"mirrord/internal/parts"
	"mirrord/site"
)

// readers is the registry of document formats: each is one method, in the file of its format, that returns
// what the package knows of it. Adding a format is adding such a file: a Format number that was never used,
// the method, and the scan.
type readers struct{}

// reader is one document format.
type reader struct {
	format Format
	name   string

	// How Detect finds the format.
	types []string            // media types
	as    func(b body) Format // what a body of these types is; nil: this format
	// extensions of files that browsers use for what the page says, regardless of their type
	used  []string
	named []string // extensions that decide when the type is unknown
	roots []string // local names of the root element of an XML document

	syntax charset.Syntax // where a document names its encoding
	// declares the encoding that only HTTP named, as an Edit; nil: nothing can
	declare func(sc *scanner, raw []byte)
	scan    func(sc *scanner, v view) // finds the links
	spliced bool                      // links are replaced in the copy; else they are only found
}

// body is what Detect looks at beside the media type.
type body struct {
	essence string // the media type without parameters, in lower case
	head    []byte // at most sniffBytes
	url     site.URL
	ext     string // of the URL's path, in lower case
}

// formats are the readers by format, media type and extension. They are constant once they are made.
type formats struct {
	all   map[Format]*reader // without Unknown
	types map[string]*reader
	used  map[string]*reader
	named map[string]*reader
	roots map[string]Format
}

// known are the readers that there are.
var known = newFormats(parts.Of[reader](readers{}))

// newFormats arranges readers. No two have the same number, type or extension.
func newFormats(list []reader) *formats {
	f := &formats{
		all:   map[Format]*reader{},
		types: map[string]*reader{},
		used:  map[string]*reader{},
		named: map[string]*reader{},
		roots: map[string]Format{},
	}
	for i := range list {
		r := &list[i]
		f.all[r.format] = r
		note(f.types, r, r.types)
		note(f.used, r, r.used)
		note(f.named, r, r.named)
		for _, root := range r.roots {
			f.roots[root] = r.format
		}
	}
	return f
}

func note(by map[string]*reader, r *reader, words []string) {
	for _, w := range words {
		by[w] = r
	}
}

func (f Format) String() string {
	if f == Unknown {
		return "unknown"
	}
	if r := known.all[f]; r != nil {
		return r.name
	}
	return "invalid"
}

// Spliced reports whether links of documents of the format are replaced in a copy. Of all others links are
// only found, if any.
func (f Format) Spliced() bool {
	r := known.all[f]
	return r != nil && r.spliced
}

// MaySplice reports whether links of a body may be replaced in a copy, as far as its media type, its URL and
// its mirror path tell. It is true as well for what only the bytes can decide.
func MaySplice(mime string, u site.URL, path string) bool {
	b := body{essence: essenceOf(mime), url: u, ext: extension(u)}
	if r := known.types[b.essence]; r != nil {
		return r.spliced && (r.as == nil || len(r.roots) > 0 || r.as(b).Spliced())
	}
	last := extensionOf(path)
	switch b.essence {
	case "text/xml", "application/xml", "text/xsl":
		return true
	case "", "unknown/unknown", "application/unknown", "*/*":
		return byName(b.ext) || byName(last) || last == ""
	case "text/plain", "application/octet-stream", "binary/octet-stream":
		return Detect(b.essence, u, nil).Spliced()
	}
	return strings.HasSuffix(b.essence, "+xml")
}

// byName reports whether a file of unknown type with an extension may have links that are replaced.
func byName(ext string) bool {
	return known.byUse(ext).Spliced() || known.named[ext] != nil || strings.Contains(xmlExtensions, " "+ext+" ")
}

// xmlExtensions are extensions of XML that is read when the type is unknown.
const xmlExtensions = " xml xsl xslt xsd rng rss atom rdf owl wsdl opml kml gpx svg mathml mml plist " +
	"xhtml xht xul xbl "

// essenceOf returns a media type without its parameters, in lower case.
func essenceOf(mime string) string {
	essence, _, _ := strings.Cut(mime, ";")
	return strings.ToLower(strings.TrimSpace(essence))
}

// Detect decides how a body is scanned: by its Content-Type, for XML and unknown types by its first bytes, of
// which head should have 1024, and by the URL's extension where browsers, or readers of a copy without HTTP
// header, go by it. A body that is evidently binary is Unknown regardless of its type. So is
// application/octet-stream, which names a file to be kept as it is: its bytes are never looked at for HTML,
// only its name may say so.
func Detect(mime string, u site.URL, head []byte) Format {
	if len(head) > sniffBytes {
		head = head[:sniffBytes]
	}
	if binaryBody(head) {
		return Unknown
	}
	essence := essenceOf(mime)
	b := body{
		essence: essence,
		head:    head,
		url:     u,
		ext:     extension(u),
	}
	f := known
	if r := f.types[essence]; r != nil {
		if r.as != nil {
			return r.as(b)
		}
		return r.format
	}
	switch essence {
	case "text/xml", "application/xml", "text/xsl":
		return xmlRoot(head)
	case "text/plain":
		return f.byUse(b.ext)
	case "application/octet-stream", "binary/octet-stream":
		if b.ext == "html" || b.ext == "htm" {
			return HTML // so a copy opens it
		}
		return f.byUse(b.ext)
	case "", "unknown/unknown", "application/unknown", "*/*": // the unknown types of MIME Sniffing, section 7
		return f.byContent(b)
	}
	if strings.HasSuffix(essence, "+xml") {
		return xmlRoot(head)
	}
	return Unknown
}

// byUse decides by extension for files that browsers use for what the page says they are, regardless of
// their type.
func (f *formats) byUse(ext string) Format {
	if r := f.used[ext]; r != nil {
		return r.format
	}
	return Unknown
}

// byContent decides for an unknown type: by the extension, which is all that a reader of a copy has, else by
// MIME Sniffing, section 7.1, whose only rows with links are those of HTML and of "<?xml". All other rows, of
// which binaryBody knows the usual ones, are Unknown.
func (f *formats) byContent(b body) Format {
	if use := f.byUse(b.ext); use != Unknown {
		return use
	}
	switch b.ext {
	case "xhtml", "xht":
		if x := xmlRoot(b.head); x == SVG {
			return SVG
		}
		return HTML
	case "svg", "rss", "atom", "rdf", "xml":
		return xmlRoot(b.head)
	}
	if r := f.named[b.ext]; r != nil {
		return r.format
	}
	switch {
	case looksHTML(b.head):
		return HTML
	case looksXML(b.head):
		return xmlRoot(b.head)
	}
	return Unknown
}
