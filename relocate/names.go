package relocate

// The names that matter to a link scan. A name is looked up by a hash: its bytes, each or-ed with 0x20 (which folds case), rotated
// into 64 bits on the way of the tokenizer. The whole name is compared afterwards, because that folding joins a few odd bytes.

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
)

type attrID uint8

const (
	noAttr attrID = iota
	attrHref
	attrSrc
	attrSrcset
	attrImagesrcset
	attrData
	attrAction
	attrFormaction
	attrPoster
	attrBackground
	attrCite
	attrLongdesc
	attrLowsrc
	attrDynsrc
	attrPing
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
	attrManifest
	attrDataSrc
	attrDataSrcset
	attrDataLazySrc
	attrDataLazySrcset
	attrDataOriginal
	attrValue
	attrType
	attrXlinkHref
	attrHreflang
	attrLang
	attrXmlLang
	attrXmlBase
	attrPaint // an SVG presentation attribute that may hold url()
	attrCount
)

func tagOf(hash uint64, name []byte) tagID {
	var id tagID
	var want string
	switch hash {
	case 0x61:
		id, want = tagA, "a"
	case 0x61726561:
		id, want = tagArea, "area"
	case 0x6c696e6b:
		id, want = tagLink, "link"
	case 0x62617365:
		id, want = tagBase, "base"
	case 0x696d67:
		id, want = tagImg, "img"
	case 0x696d616765:
		id, want = tagImage, "image"
	case 0x736f75726365:
		id, want = tagSource, "source"
	case 0x747261636b:
		id, want = tagTrack, "track"
	case 0x617564696f:
		id, want = tagAudio, "audio"
	case 0x766964656f:
		id, want = tagVideo, "video"
	case 0x656d626564:
		id, want = tagEmbed, "embed"
	case 0x696e707574:
		id, want = tagInput, "input"
	case 0x627574746f6e:
		id, want = tagButton, "button"
	case 0x696672616d65:
		id, want = tagIframe, "iframe"
	case 0x6672616d65:
		id, want = tagFrame, "frame"
	case 0x6f626a656374:
		id, want = tagObject, "object"
	case 0x706172616d:
		id, want = tagParam, "param"
	case 0x736372697074:
		id, want = tagScript, "script"
	case 0x626f6479:
		id, want = tagBody, "body"
	case 0x7461626c65:
		id, want = tagTable, "table"
	case 0x7468656164:
		id, want = tagThead, "thead"
	case 0x74626f6479:
		id, want = tagTbody, "tbody"
	case 0x74666f6f74:
		id, want = tagTfoot, "tfoot"
	case 0x7472:
		id, want = tagTr, "tr"
	case 0x7464:
		id, want = tagTd, "td"
	case 0x7468:
		id, want = tagTh, "th"
	case 0x6f636b71756f1609:
		id, want = tagBlockquote, "blockquote"
	case 0x71:
		id, want = tagQ, "q"
	case 0x696e73:
		id, want = tagIns, "ins"
	case 0x64656c:
		id, want = tagDel, "del"
	case 0x68746d6c:
		id, want = tagHtml, "html"
	case 0x68656164:
		id, want = tagHead, "head"
	case 0x666f726d:
		id, want = tagForm, "form"
	case 0x6d657461:
		id, want = tagMeta, "meta"
	case 0x757365:
		id, want = tagUse, "use"
	case 0x6665696d616765:
		id, want = tagFeimage, "feimage"
	case 0x6267736f756e64:
		id, want = tagBgsound, "bgsound"
	case 0x737667:
		id, want = tagSvg, "svg"
	case 0x6d617468:
		id, want = tagMath, "math"
	case 0x74656d706c617465:
		id, want = tagTemplate, "template"
	case 0x7374796c65:
		id, want = tagStyle, "style"
	case 0x7465787461726561:
		id, want = tagTextarea, "textarea"
	case 0x7469746c65:
		id, want = tagTitle, "title"
	case 0x786d70:
		id, want = tagXmp, "xmp"
	case 0x6e6f656d626564:
		id, want = tagNoembed, "noembed"
	case 0x6e6f6672616d6573:
		id, want = tagNoframes, "noframes"
	case 0x6e6f736372697074:
		id, want = tagNoscript, "noscript"
	case 0x6c61696e74657804:
		id, want = tagPlaintext, "plaintext"
	case 0x6d70617468:
		id, want = tagSVGHref, "mpath"
	case 0x7465787470617468:
		id, want = tagSVGHref, "textpath"
	case 0x7061747465726e:
		id, want = tagSVGHref, "pattern"
	case 0x67720d0d07000f06:
		id, want = tagSVGHref, "lineargradient"
	case 0x677213050d0c0f18:
		id, want = tagSVGHref, "radialgradient"
	case 0x66696c746572:
		id, want = tagSVGHref, "filter"
	case 0x616e696d617465:
		id, want = tagSVGHref, "animate"
	case 0x736574:
		id, want = tagSVGHref, "set"
	case 0x74656d0e1a00020f:
		id, want = tagSVGHref, "animatemotion"
	case 0x130f071e071b1719:
		id, want = tagSVGHref, "animatetransform"
	case 0x637572736f72:
		id, want = tagSVGHref, "cursor"
	case 0x6d726f77:
		id, want = tagMathHref, "mrow"
	case 0x6d69:
		id, want = tagMathHref, "mi"
	case 0x6d6f:
		id, want = tagMathHref, "mo"
	case 0x6d6e:
		id, want = tagMathHref, "mn"
	case 0x6d74657874:
		id, want = tagMathHref, "mtext"
	case 0x6d73:
		id, want = tagMathHref, "ms"
	case 0x6d66726163:
		id, want = tagMathHref, "mfrac"
	case 0x6d73717274:
		id, want = tagMathHref, "msqrt"
	case 0x6d726f6f74:
		id, want = tagMathHref, "mroot"
	case 0x6d7374796c65:
		id, want = tagMathHref, "mstyle"
	case 0x6d737570:
		id, want = tagMathHref, "msup"
	case 0x6d737562:
		id, want = tagMathHref, "msub"
	case 0x6d737562737570:
		id, want = tagMathHref, "msubsup"
	case 0x6d6f766572:
		id, want = tagMathHref, "mover"
	case 0x6d756e646572:
		id, want = tagMathHref, "munder"
	case 0x6e6465726f760807:
		id, want = tagMathHref, "munderover"
	case 0x6d7461626c65:
		id, want = tagMathHref, "mtable"
	case 0x6d7464:
		id, want = tagMathHref, "mtd"
	case 0x656d616e74696300:
		id, want = tagMathHref, "semantics"
	default:
		return noTag
	}
	if !equalFold(name, want) {
		return noTag
	}
	return id
}

func attrOf(hash uint64, name []byte) attrID {
	var id attrID
	var want string
	switch hash {
	case 0x68726566:
		id, want = attrHref, "href"
	case 0x737263:
		id, want = attrSrc, "src"
	case 0x737263736574:
		id, want = attrSrcset, "srcset"
	case 0x67657372631a0815:
		id, want = attrImagesrcset, "imagesrcset"
	case 0x64617461:
		id, want = attrData, "data"
	case 0x616374696f6e:
		id, want = attrAction, "action"
	case 0x726d616374690901:
		id, want = attrFormaction, "formaction"
	case 0x706f73746572:
		id, want = attrPoster, "poster"
	case 0x636b67726f750c05:
		id, want = attrBackground, "background"
	case 0x63697465:
		id, want = attrCite, "cite"
	case 0x6c6f6e6764657363:
		id, want = attrLongdesc, "longdesc"
	case 0x6c6f77737263:
		id, want = attrLowsrc, "lowsrc"
	case 0x64796e737263:
		id, want = attrDynsrc, "dynsrc"
	case 0x70696e67:
		id, want = attrPing, "ping"
	case 0x72656c:
		id, want = attrRel, "rel"
	case 0x636f6e74656e74:
		id, want = attrContent, "content"
	case 0x6e616d65:
		id, want = attrName, "name"
	case 0x70726f7065727479:
		id, want = attrProperty, "property"
	case 0x6974656d70726f70:
		id, want = attrItemprop, "itemprop"
	case 0x74702d6571750102:
		id, want = attrHttpEquiv, "http-equiv"
	case 0x63686172736574:
		id, want = attrCharset, "charset"
	case 0x7374796c65:
		id, want = attrStyle, "style"
	case 0x737263646f63:
		id, want = attrSrcdoc, "srcdoc"
	case 0x6e74656772697410:
		id, want = attrIntegrity, "integrity"
	case 0x73736f7269041b01:
		id, want = attrCrossorigin, "crossorigin"
	case 0x6d616e6966657374:
		id, want = attrManifest, "manifest"
	case 0x646174612d737263:
		id, want = attrDataSrc, "data-src"
	case 0x612d737263170400:
		id, want = attrDataSrcset, "data-srcset"
	case 0x6c617a1d4c07134e:
		id, want = attrDataLazySrc, "data-lazy-src"
	case 0x1d4c07134e1f040e:
		id, want = attrDataLazySrcset, "data-lazy-srcset"
	case 0x6f726903081a0041:
		id, want = attrDataOriginal, "data-original"
	case 0x76616c7565:
		id, want = attrValue, "value"
	case 0x74797065:
		id, want = attrType, "type"
	case 0x696e6b3a68721d0a:
		id, want = attrXlinkHref, "xlink:href"
	case 0x687265666c616e67:
		id, want = attrHreflang, "hreflang"
	case 0x6c616e67:
		id, want = attrLang, "lang"
	case 0x786d6c3a6c616e67:
		id, want = attrXmlLang, "xml:lang"
	case 0x786d6c3a62617365:
		id, want = attrXmlBase, "xml:base"
	case 0x66696c6c:
		id, want = attrPaint, "fill"
	case 0x7374726f6b65:
		id, want = attrPaint, "stroke"
	case 0x66696c746572:
		id, want = attrPaint, "filter"
	case 0x6d61736b:
		id, want = attrPaint, "mask"
	case 0x6c69702d7061740b:
		id, want = attrPaint, "clip-path"
	case 0x65722d731900001f:
		id, want = attrPaint, "marker-start"
	case 0x726b65722d6d0405:
		id, want = attrPaint, "marker-mid"
	case 0x726b65722d650305:
		id, want = attrPaint, "marker-end"
	default:
		return noAttr
	}
	if !equalFold(name, want) {
		return noAttr
	}
	return id
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
