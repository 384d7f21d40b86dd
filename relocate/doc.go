// SPDX-License-Identifier: Apache-2.0

// Package relocate finds the links of a document and changes them so that a copy of it works where it lies.
//
// It has two halves. Doc.Scan reads a document once and yields every link: its byte span in the raw document,
// what it is for (Kind), how it must be written there (Context), and the absolute URL it means. Splice and
// SpliceTo copy the raw bytes and replace only such spans. Between the two lies the whole retrieval of a
// site: which links are replaced, and by what, is decided when it is known what the mirror holds. Splice
// needs only Start, End, Ctx and Kind of a link, so links can be stored compactly. Nothing is parsed twice,
// nothing is rendered: everything but links and declared edits is copied byte for byte, including errors in
// the markup.
//
// # Links
//
// HTML: every attribute by which a browser loads or links to a document, by element (a, area, base, link by
// its rel, img with srcset, picture, source, track, audio, video, embed, object, param, iframe with srcdoc,
// frame, script, input, form and formaction, ping, body and table backgrounds, cite, longdesc, html manifest,
// applet), the usual data-src attributes of lazy images when their value looks like a file, other data-*
// attributes when they hold the address of a file, or JSON with some (kind InScript), meta refresh,
// og:image and its like, SVG and MathML inside HTML, style attributes and elements. The content of noscript
// and template is scanned.
// JSON-LD and other data blocks are text to this package. Scripts: the string literals of inline scripts,
// import maps and event handlers that are plainly the addresses of files (kind InScript): an http or https
// URL or a path of plain URL characters whose last segment ends in the extension of something that pages are
// made of, which stands alone: joined to nothing, compared with nothing, no key. Without such an extension a
// string may as well be a base that the script appends to, a route or the address of a program. Of a script
// file the same, but only what does not depend on the page that loads it: absolute and root-relative
// addresses, and the modules that it imports. These are Discovered and never replaced. CSS: url() and src(),
// the strings of @import and image-set(). XML: the same elements by local name, xlink:href, xml-stylesheet.
// Feeds: links of channel, items and entries, media, and the HTML inside descriptions. Sitemaps: loc and its
// extensions. Web app manifests: icons, screenshots, start_url, scope, shortcuts. ParseLinkHeader and
// ScanSitemap serve those who need no spans.
//
// No links are: references of other schemes than http and https, fragments of the document itself, empty
// references. A fragment is never part of a span, so it survives. Under a <base> a bare fragment does lead to
// another document and is a link; a base inside srcdoc counts within that srcdoc, but does not make
// its bare fragments links.
//
// # What else is edited
//
// The copy is read without the HTTP header and from another place. Therefore, and each time declared as an
// Edit: an encoding that only Content-Type named is declared in the document; a redirection that only Refresh
// named becomes a meta refresh; <base href>, an applet's codebase and xml:base are blanked (not removed: the
// first base with an href still hides later ones, and its target stays); the integrity and crossorigin of an
// element whose target is inside the set are taken off, because that target may have changed and no CORS
// request succeeds from file://; the policy in a CSP meta is blanked.
//
// # Encodings
//
// A document's encoding is found as the HTML standard says (byte order mark, Content-Type, prescan of 1024
// bytes, a later meta, windows-1252). Where ASCII bytes may be part of longer characters (Shift_JIS, Big5,
// GB18030, EUC-KR) that never concerns the bytes that delimit markup, so HTML is scanned as it is and only
// values are decoded; CSS, where a backslash matters, is converted first. UTF-16 and ISO-2022-JP are
// converted with a map of offsets. Spans always count raw bytes, and replacements, which are ASCII, are
// written in the document's encoding. Non-ASCII characters of a query are percent-encoded in that encoding,
// those of a path in UTF-8 (WHATWG URL standard).
//
// # Guarantees
//
// Time is linear in the size of any document. Links are sorted and never overlap. Relocating a
// relocated document changes nothing. The tokenizer finds the same tags, attributes and values as
// golang.org/x/net/html's on any input, but for two things that a tokenizer alone cannot know and a browser
// does: SVG and MathML have CDATA sections and self-closing script and style. The package has no network,
// disk, clock, goroutine or log.
//
// Sources: WHATWG HTML, sections 4.2.3 (base), 4.8.4.3.10 (srcset), 13.2.3 (encoding), 13.2.5 (tokenization);
// WHATWG Encoding and URL; CSS Syntax 3, CSS Values 4, CSS Images 4; RSS 2.0, RFC 4287 (Atom); sitemaps.org
// 0.9; RFC 8288 (Link); W3C Application Manifest.
package relocate
