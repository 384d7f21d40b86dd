// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"math/bits"
	"slices"
	"strings"
)

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
	tagApplet
	tagSVGHref  // an SVG element that may refer to a resource by href
	tagMathHref // a MathML element, any of which may be a hyperlink
)

// rawNames are the names of the elements that hold text and no tags.
var rawNames = [tagMathHref + 1]string{
	tagScript:    "script",
	tagStyle:     "style",
	tagTitle:     "title",
	tagTextarea:  "textarea",
	tagXmp:       "xmp",
	tagIframe:    "iframe",
	tagNoembed:   "noembed",
	tagNoframes:  "noframes",
	tagNoscript:  "noscript", // to browsers with scripts
	tagPlaintext: "plaintext",
}

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
	attrCode
	attrCodebase
	attrArchive
	attrEvent     // an event handler, whose value is a script
	attrPaint     // an SVG presentation attribute that may hold url()
	attrForScript // data-* without a meaning of its own
	attrCount     // the attributes of linkAttributes follow
)

// tagNames has the names of the elements in the order of their numbers, and those of whole families.
var tagNames = newNames(slices.Concat(numbered(tagA, `
	a area link base img image source track audio video embed input button iframe frame object
	param script body table thead tbody tfoot tr td th blockquote q ins del html head form meta use
	feimage bgsound svg math template style textarea title xmp noembed noframes noscript plaintext
	applet`), alike(tagSVGHref, `
	mpath textpath pattern lineargradient radialgradient filter animate set animatemotion
	animatetransform cursor`), alike(tagMathHref, `
	mrow mi mo mn mtext ms mfrac msqrt mroot mstyle msup msub msubsup mover munder munderover
	mtable mtd semantics`)))

// attrNames has the names of the attributes in the order of their numbers, and those of whole families.
var attrNames = newNames(slices.Concat(listedNames(), numbered(attrHref, `
	href src srcset imagesrcset data rel content name property itemprop http-equiv charset style
	srcdoc integrity crossorigin value type xlink:href hreflang lang xml:lang xml:base language
	code codebase archive`), alike(attrEvent, `
	onclick onload onmouseover onmouseout onmousedown onmouseup onfocus onchange onerror`), alike(attrPaint, `
	fill stroke filter mask clip-path marker-start marker-mid marker-end`)))

// numbered gives the names in a list the numbers from first on.
func numbered[ID ~uint8](first ID, list string) (out []nameID[ID]) {
	for name := range strings.FieldsSeq(list) {
		out = append(out, nameID[ID]{name, first + ID(len(out))})
	}
	return out
}

// alike gives all names in a list one number.
func alike[ID ~uint8](id ID, list string) (out []nameID[ID]) {
	for name := range strings.FieldsSeq(list) {
		out = append(out, nameID[ID]{name, id})
	}
	return out
}

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
