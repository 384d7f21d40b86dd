// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"mirrord/site"

	"mirrord/internal/charset"
)

// Format says how a document's links are found.
type Format uint8

// The formats. The numbers are stored by callers: never reorder them.
const (
	Unknown  Format = iota // no links are looked for
	HTML                   // text/html, by the HTML tokenization rules
	CSS                    // a style sheet
	SVG                    // any XML with links: SVG, XHTML, MathML, other XML with a style sheet instruction
	Feed                   // RSS, Atom, RDF site summary
	Sitemap                // urlset or sitemapindex
	Manifest               // web app manifest (JSON)
	Script                 // a script of its own: its addresses are only found, never replaced
)

// Kind says what a link is for, and so whether it is followed and how it is relocated.
type Kind uint8

// The kinds. The numbers are stored by callers: never reorder them.
const (
	// links to another document: a, area, longdesc, meta refresh, feed items, rel=next, feeds, translations
	Hyperlink  Kind = iota
	Frame           // a document shown inside this one: iframe, frame, object with HTML
	Requisite       // needed to show the document: images, scripts, style sheets, fonts, media, icons, manifests
	Action          // a program: form action, formaction, ping. Never mirrored, made absolute
	Reference       // names a document: canonical, cite, og:url. Relocated, not followed
	Discovered      // names a document in a sitemap or script. Followed, never replaced
	// a string in an inline script that is plainly a file's address. Followed as a guess, replaced when its
	// target is inside, else left
	InScript
)

var kindNames = [...]string{"hyperlink", "frame", "requisite", "action", "reference", "discovered",
	"in script"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Context says how a reference must be written at a span. It is all that Splice knows of the place besides
// the raw bytes, and it is stored by callers: bits keep their meaning.
type Context uint16

// The bits of a Context. The two lowest count how many times the reference is wrapped in character
// references: 0 in a style sheet, in <style> and in CDATA, 1 in an attribute or in XML text, 2 in an
// attribute inside srcdoc, 3 one srcdoc deeper.
const (
	CtxLevel       Context = 3       // mask of the level
	CtxUnquoted    Context = 1 << 2  // unquoted attribute value
	CtxSingle      Context = 1 << 3  // single-quoted attribute value (double-quoted: neither bit)
	CtxCSS         Context = 1 << 4  // inside CSS: a string or an unquoted url()
	CtxCSSUnquoted Context = 1 << 5  // an unquoted url()
	CtxSrcset      Context = 1 << 6  // a srcset candidate: no comma may stand first or last
	CtxRefresh     Context = 1 << 7  // the URL of meta refresh, which has quotes but no escapes
	CtxJSON        Context = 1 << 8  // a JSON string
	CtxXML         Context = 1 << 9  // XML, not HTML
	CtxCDATA       Context = 1 << 10 // inside a CDATA section
	// a string of a script or for one: a path begins with a dot, or an import would take it for a package's name
	CtxJS Context = 1 << 11
	// an applet's codebase: the directory of the class is written, without the class and its package
	CtxDir Context = 1 << 12
	// mask of the number of directories that the class's package is deep, under CtxDir
	CtxPackage Context = 3 << 13
)

// packageShift is where the number under CtxPackage begins.
const packageShift = 13

// deeper returns c with one more level of character references; the level saturates at 3.
func (c Context) deeper() Context {
	if c&CtxLevel < CtxLevel {
		c++
	}
	return c
}

// Link is one occurrence of a reference in a document. Ref and URL alias the raw bytes or the Doc's memory
// and are valid until the next Scan into that Doc.
type Link struct {
	// byte span in the raw document of the reference without its fragment, so that the fragment survives
	Start, End int32
	Ctx        Context // how a replacement is written here
	Kind       Kind
	NoFollow   bool // rel=nofollow
	Absolute   bool // spelled with scheme and "//": its target is the same from anywhere
	// a relative path of unreserved characters only, written without any escape, that does not climb above the
	// root, and no <base> applies
	Plain bool
	Ref   []byte // the reference as UTF-8 without fragment, exactly what was resolved
	// canonical absolute URL, or nil when Ref is no http or https URL: such a link is never replaced
	URL []byte
}

// EditKind says why something other than a link is changed.
type EditKind uint8

// The declared edits. The numbers are stored by callers: never reorder them.
const (
	// the charset that only the HTTP header named, or the document that links to it, is declared in the document
	EditCharset EditKind = iota
	// <base href> or xml:base is blanked: it would lead every relative link back to the origin
	EditBase
	EditIntegrity   // integrity is blanked: the relocated target has other bytes
	EditCrossorigin // crossorigin is removed: no CORS request succeeds from file://
	EditCSP         // the policy of a CSP meta is blanked: 'self' matches nothing in a copy
	EditRefresh     // the redirection that only the HTTP header Refresh named becomes a meta refresh
	editRefreshEnd  // its end, after the reference; not reported
	EditCodebase    // an applet gets a codebase, because its class is not in the set
)

var editNames = [...]string{"charset", "base", "integrity", "crossorigin", "csp", "refresh", "refresh",
	"codebase"}

func (k EditKind) String() string {
	if int(k) < len(editNames) {
		return editNames[k]
	}
	return "invalid"
}

// Edit replaces raw[Start:End] by New. With Link >= 0 it applies only when the target of that link of the
// document is inside the set; otherwise always.
type Edit struct {
	Start, End int32
	New        string
	Why        EditKind
	Link       int32 // index in Doc.Links, or -1
}

// CharsetFrom says what determined a document's encoding.
type CharsetFrom = charset.From

// What determined an encoding.
const (
	FromBOM      = charset.FromMark     // byte order mark
	FromHeader   = charset.FromHeader   // Content-Type, or Input.Around
	FromDocument = charset.FromDocument // <meta>, XML declaration, @charset
	FromDefault  = charset.FromDefault  // nothing: windows-1252 for HTML, UTF-8 for the rest
)

// RobotsMeta is a <meta> that addresses robots: its name (robots or mirrord, lower case) and its content as
// written.
type RobotsMeta struct {
	Name, Content string
}

// Input is the information about a document before it is scanned.
type Input struct {
	URL           site.URL // the final URL of the document, after redirects
	MIME          string   // Content-Type without or with parameters; only read when Format is Unknown
	HeaderCharset string   // charset parameter of Content-Type, any label
	// encoding of the document that links to a style sheet or script, "" when it is not known: that of one
	// that names none and is not UTF-8
	Around    string
	Refresh   string // the HTTP header Refresh; only used for HTML
	Format    Format // how to scan; Unknown: as Detect says
	MaxLinks  int    // links kept; more set BoundLinks in Doc.Truncated. Default 100 000
	NoScripts bool   // leave scripts and event handlers alone
}

// defaultMaxLinks bounds the memory of one document's links to about 10 MB.
const defaultMaxLinks = 100_000

func (in Input) withDefaults() Input {
	if in.MaxLinks <= 0 {
		in.MaxLinks = defaultMaxLinks
	}
	return in
}

// Bound is a set of bounds of a scan.
type Bound uint8

// The bounds. Each protects memory or time against a document that is made to cost it.
const (
	BoundLinks   Bound = 1 << iota // Input.MaxLinks
	BoundText                      // MaxDecoded bytes of text in another encoding, or with character references
	BoundURLs                      // MaxURLBytes of absolute URLs, or bases of parts of the document
	BoundNesting                   // documents in srcdoc attributes of documents in srcdoc attributes
)

// Doc is what one scan found. A Doc may be used again and again; it keeps its memory. It is not safe for
// concurrent use.
type Doc struct {
	Format      Format
	Charset     string // WHATWG name in lower case: "utf-8", "shift_jis"
	CharsetFrom CharsetFrom
	Links       []Link // sorted by Start, never overlapping
	Edits       []Edit // sorted by Start, overlapping neither one another nor a link
	Title       string // of HTML and SVG; white space collapsed
	Lang        string // the root element's lang or xml:lang
	Robots      []RobotsMeta
	Icon        bool  // a link element names the document's icon
	Anchor      bool  // an a element with attributes stands where browsers that run scripts show it, too
	Truncated   Bound // the bounds that were hit: links were not found or have no URL, and stay as they were

	sc scanner
}
