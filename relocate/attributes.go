// SPDX-License-Identifier: Apache-2.0

package relocate

// ScanVersion counts up when other links are found in the same bytes, or the same ones are read in another
// way: callers that stored what a scan found then scan again. TestScanVersion fails when it was forgotten.
// Its history:
//
//	2  strings in scripts
//	3  longdesc, applet, escaped @import, the header Refresh, favicon.ico; references above the root;
//	   octet-stream is no HTML
//	4  queries in the document's encoding escape what browsers escape
//	5  XSLT: its imports, no templates of attribute values; no entities that an XML document declares;
//	   UTF-16 with typography; data-bg, data-background, data-poster and their like
//	6  style sheets and scripts without an encoding in that of the page; <base> in noscript, SVG and MathML;
//	   pages that scripts of data name; loadIndex and loadScript; what documentation generators load
//	7  data-* attributes that are not listed below; prefixes of import maps; more of documentation generators
//	8  what DocFX loads into its pages, more of documentation generators
//	9  Storybook, style sheets of modules by Vite, the search of NexT
//	10 Pagefind, the columns of the search index of rustdoc
//	11 the codebase of an applet without its class, listings in JSON and XML; no numbers of comments in feeds
//	12 JSON in data-* attributes, hidden mail addresses
const ScanVersion = 12

// linkAttributes are the attributes that hold links and nothing else that matters. To add one, add its line,
// raise ScanVersion, and run go test ./relocate -run TestScanVersion -update.
//
// The attributes whose meaning depends on more than the element (href, src, srcset, style, content, …) are in
// htmltag.go.
var linkAttributes = [...]linkAttribute{
	{"action", oneURL, Action, 1 << tagForm},
	{"formaction", oneURL, Action, 1<<tagInput | 1<<tagButton},
	{"ping", listOfURLs, Action, 1<<tagA | 1<<tagArea},
	{"poster", oneURL, Requisite, 1 << tagVideo},
	{"background", oneURL, Requisite,
		1<<tagBody | 1<<tagTable | 1<<tagThead | 1<<tagTbody | 1<<tagTfoot | 1<<tagTr | 1<<tagTd | 1<<tagTh},
	{"cite", oneURL, Reference, 1<<tagBlockquote | 1<<tagQ | 1<<tagIns | 1<<tagDel},
	{"longdesc", oneURL, Hyperlink, 1<<tagImg | 1<<tagFrame | 1<<tagIframe},
	{"lowsrc", oneURL, Requisite, 1 << tagImg},
	{"dynsrc", oneURL, Requisite, 1 << tagImg},
	{"manifest", oneURL, Requisite, 1 << tagHtml},
	{"data-src", lazy, Requisite, anyTag},
	{"data-lazy-src", lazy, Requisite, anyTag},
	{"data-original", lazy, Requisite, anyTag},
	{"data-lazy", lazy, Requisite, anyTag},
	{"data-bg", lazy, Requisite, anyTag},
	{"data-background", lazy, Requisite, anyTag},
	{"data-background-image", lazy, Requisite, anyTag},
	{"data-poster", lazy, Requisite, anyTag},
	{"data-srcset", lazySrcset, Requisite, anyTag},
	{"data-lazy-srcset", lazySrcset, Requisite, anyTag},
}

// linkAttribute is one line of linkAttributes.
type linkAttribute struct {
	name  string // in lower case
	value valueRule
	kind  Kind
	on    tagSet // the elements on which it counts
}

// tagSet is a set of elements, by bit.
type tagSet uint64

// anyTag is every element, known or not.
const anyTag tagSet = 1<<64 - 1

// A tagSet can hold all elements.
const _ = uint(63 - tagMathHref)

// valueRule says what the value of an attribute is.
type valueRule uint8

const (
	oneURL     valueRule = iota
	listOfURLs           // separated by white space
	lazy                 // a URL for a script to load: only a value that looks like a file's address counts
	lazySrcset           // the same in the syntax of srcset
)

// listedNames gives the attributes of linkAttributes the numbers after attrCount.
func listedNames() []nameID[attrID] {
	list := make([]nameID[attrID], len(linkAttributes))
	for i, l := range linkAttributes {
		list[i] = nameID[attrID]{l.name, attrCount + attrID(i)}
	}
	return list
}
