// SPDX-License-Identifier: Apache-2.0

package relocate

import "math/bits"

// tagID names an element that matters to a link scan.
type tagID uint8

const (
	noTag tagID = iota
	tagA
	tagArea
	tagLink
	tagBase
	tagImg
	tagImage
	tagSource
	tagTrack
	tagAudio
	tagVideo
	tagEmbed
	tagInput
	tagButton
	tagIframe
	tagFrame
	tagObject
	tagParam
	tagScript
	tagBody
	tagTable
	tagThead
	tagTbody
	tagTfoot
	tagTr
	tagTd
	tagTh
	tagBlockquote
	tagQ
	tagIns
	tagDel
	tagHtml
	tagHead
	tagForm
	tagMeta
	tagUse
	tagFeimage
	tagBgsound
	tagSvg
	tagMath
	tagTemplate
	tagStyle
	tagTextarea
	tagTitle
	tagXmp
	tagNoembed
	tagNoframes
	tagNoscript
	tagPlaintext
	tagSVGHref  // an SVG element that may refer to a resource by href
	tagMathHref // a MathML element, any of which may be a hyperlink
	tagApplet
)

// attrID names an attribute that matters: here those that code asks for by name, in linkAttributes those that
// only hold links.
type attrID uint8

const (
	noAttr attrID = iota
	attrHref
	attrSrc
	attrSrcset
	attrImagesrcset
	attrData
	attrRel
	attrContent
	attrName
	attrProperty
	attrItemprop
	attrHttpEquiv
	attrCharset
	attrStyle
	attrSrcdoc
	attrIntegrity
	attrCrossorigin
	attrValue
	attrType
	attrXlinkHref
	attrHreflang
	attrLang
	attrXmlLang
	attrXmlBase
	attrLanguage
	attrEvent // an event handler, whose value is a script
	attrPaint // an SVG presentation attribute that may hold url()
	attrCode
	attrCodebase
	attrArchive
	attrForScript // data-* without a meaning of its own
	attrCount     // the attributes of linkAttributes follow
)

var tagNames = newNames([]nameID[tagID]{
	{"a", tagA},
	{"area", tagArea},
	{"link", tagLink},
	{"base", tagBase},
	{"img", tagImg},
	{"image", tagImage},
	{"source", tagSource},
	{"track", tagTrack},
	{"audio", tagAudio},
	{"video", tagVideo},
	{"embed", tagEmbed},
	{"input", tagInput},
	{"button", tagButton},
	{"iframe", tagIframe},
	{"frame", tagFrame},
	{"object", tagObject},
	{"param", tagParam},
	{"script", tagScript},
	{"body", tagBody},
	{"table", tagTable},
	{"thead", tagThead},
	{"tbody", tagTbody},
	{"tfoot", tagTfoot},
	{"tr", tagTr},
	{"td", tagTd},
	{"th", tagTh},
	{"blockquote", tagBlockquote},
	{"q", tagQ},
	{"ins", tagIns},
	{"del", tagDel},
	{"html", tagHtml},
	{"head", tagHead},
	{"form", tagForm},
	{"meta", tagMeta},
	{"use", tagUse},
	{"feimage", tagFeimage},
	{"bgsound", tagBgsound},
	{"svg", tagSvg},
	{"math", tagMath},
	{"template", tagTemplate},
	{"style", tagStyle},
	{"textarea", tagTextarea},
	{"title", tagTitle},
	{"xmp", tagXmp},
	{"noembed", tagNoembed},
	{"noframes", tagNoframes},
	{"noscript", tagNoscript},
	{"plaintext", tagPlaintext},
	{"applet", tagApplet},
	{"mpath", tagSVGHref},
	{"textpath", tagSVGHref},
	{"pattern", tagSVGHref},
	{"lineargradient", tagSVGHref},
	{"radialgradient", tagSVGHref},
	{"filter", tagSVGHref},
	{"animate", tagSVGHref},
	{"set", tagSVGHref},
	{"animatemotion", tagSVGHref},
	{"animatetransform", tagSVGHref},
	{"cursor", tagSVGHref},
	{"mrow", tagMathHref},
	{"mi", tagMathHref},
	{"mo", tagMathHref},
	{"mn", tagMathHref},
	{"mtext", tagMathHref},
	{"ms", tagMathHref},
	{"mfrac", tagMathHref},
	{"msqrt", tagMathHref},
	{"mroot", tagMathHref},
	{"mstyle", tagMathHref},
	{"msup", tagMathHref},
	{"msub", tagMathHref},
	{"msubsup", tagMathHref},
	{"mover", tagMathHref},
	{"munder", tagMathHref},
	{"munderover", tagMathHref},
	{"mtable", tagMathHref},
	{"mtd", tagMathHref},
	{"semantics", tagMathHref},
})

var attrNames = newNames(append(listedNames(), []nameID[attrID]{
	{"href", attrHref},
	{"src", attrSrc},
	{"srcset", attrSrcset},
	{"imagesrcset", attrImagesrcset},
	{"data", attrData},
	{"rel", attrRel},
	{"content", attrContent},
	{"name", attrName},
	{"property", attrProperty},
	{"itemprop", attrItemprop},
	{"http-equiv", attrHttpEquiv},
	{"charset", attrCharset},
	{"style", attrStyle},
	{"srcdoc", attrSrcdoc},
	{"integrity", attrIntegrity},
	{"crossorigin", attrCrossorigin},
	{"value", attrValue},
	{"type", attrType},
	{"xlink:href", attrXlinkHref},
	{"hreflang", attrHreflang},
	{"lang", attrLang},
	{"xml:lang", attrXmlLang},
	{"xml:base", attrXmlBase},
	{"language", attrLanguage},
	{"code", attrCode},
	{"codebase", attrCodebase},
	{"archive", attrArchive},
	{"onclick", attrEvent},
	{"onload", attrEvent},
	{"onmouseover", attrEvent},
	{"onmouseout", attrEvent},
	{"onmousedown", attrEvent},
	{"onmouseup", attrEvent},
	{"onfocus", attrEvent},
	{"onchange", attrEvent},
	{"onerror", attrEvent},
	{"fill", attrPaint},
	{"stroke", attrPaint},
	{"filter", attrPaint},
	{"mask", attrPaint},
	{"clip-path", attrPaint},
	{"marker-start", attrPaint},
	{"marker-mid", attrPaint},
	{"marker-end", attrPaint},
}...))

type nameID[ID ~uint8] struct {
	name string
	id   ID
}

// names is a fixed hash table. The hash of a name is gathered by the tokenizer on its way: its bytes, each
// or-ed with 0x20 (which folds case), rotated into 64 bits. The whole name is compared afterwards, because
// that folding joins a few odd bytes.
type names[ID ~uint8] [1 << nameBits]struct {
	hash uint64
	nameID[ID]
}

// nameBits makes the tables about a quarter full, so that a miss is mostly known at the first look.
const nameBits = 9

// nameMix is 2^64 divided by the golden ratio: multiplication by it spreads the hashes.
const nameMix = 0x9e3779b97f4a7c15

func newNames[ID ~uint8](list []nameID[ID]) *names[ID] {
	t := new(names[ID])
	for _, n := range list {
		hash := uint64(0)
		for i := range len(n.name) {
			hash = addName(hash, n.name[i])
		}
		i := hash * nameMix >> (64 - nameBits)
		for t[i].id != 0 {
			i = (i + 1) % (1 << nameBits)
		}
		t[i].hash, t[i].nameID = hash, n
	}
	return t
}

// addName returns the hash of a name and one more byte.
func addName(hash uint64, c byte) uint64 { return bits.RotateLeft64(hash, 8) ^ uint64(c|0x20) }

// of returns the ID of a name whose hash is given, or 0.
func (t *names[ID]) of(hash uint64, name []byte) ID {
	for i := hash * nameMix >> (64 - nameBits); ; i = (i + 1) % (1 << nameBits) {
		s := &t[i]
		if s.id == 0 {
			return 0
		}
		if s.hash == hash && equalFold(name, s.name) {
			return s.id
		}
	}
}

// equalFold reports whether name is want, which is lower case, but for the case of ASCII letters.
func equalFold(name []byte, want string) bool {
	if len(name) != len(want) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// indexFold returns where word, which is lower case, first occurs in b, case aside, or -1.
func indexFold(b []byte, word string) int {
	for i := 0; i+len(word) <= len(b); i++ {
		if b[i]|0x20 == word[0] && equalFold(b[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// space reports ASCII white space.
func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
