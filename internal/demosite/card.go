// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"path"
	"strings"
)

// CardTargets returns the paths that the test card (/card/) refers to, one for each way in which a document
// can: a mirror that is complete has all of them.
func CardTargets() []string {
	return []string{
		"a.html", "area.html", "audio-src.wav", "body-background.png", "css-attribute.png", "css-escaped.png",
		"css-font.woff2", "css-image-set.png", "css-image-set-string.png",
		"css-import-string.css", "css-import-url.css", "css-nested.png", "css-url.png", "embed.svg", "iframe.html",
		"img-src.png", "img-srcset-1.png", "img-srcset-2.png",
		"input-image.png", "link-header.css", "link-icon.png", "link-imagesrcset.png", "link-preload.woff2",
		"link-stylesheet.css", "manifest-icon.png", "meta-image.png", "meta-refresh.html",
		"noscript.png", "object.svg", "picture-source.png", "script.js", "source.wav", "srcdoc-a.html",
		"srcdoc-img.png", "style-element.png",
		"svg-anchor.html", "svg-image.png", "svg-style.png", "svg-use.svg", "table-background.png", "template.png",
		"track.vtt", "video-poster.png", "video-src.webm",
		"frame-left.html", "frame-right.html", "entity&amp.html", "space in name.html", "unquoted.html",
		"uppercase.html",
	}
}

func (b *builder) cardPages() map[string]*file {
	files := map[string]*file{} // a file knows its version, so that each version has its own
	for p, f := range b.cardOnce() {
		own := *f
		files[p] = &own
	}
	return files
}

// cardOnce makes the test card, which is the same in all versions.
func (b *builder) cardOnce() map[string]*file {
	if b.card != nil {
		return b.card
	}
	files := map[string]*file{}
	b.card = files
	for _, t := range CardTargets() {
		files["/card/"+t] = cardTarget(t)
	}
	files["/card/link-stylesheet.css"] = &file{mime: "text/css",
		body: []byte(
			"@import \"css-import-string.css\";\n@import url( css-import-url.css ) print;\n/* url(not-a-link.png) " +
				"*/\n.a { background: url(css-url.png) }\n.b { content: \"url(not-a-link.png)\"; background-image: " +
				"image-set(url('css-image-set.png') 1x, \"css-image-set-string.png\" 2x) }\n" +
				".c { background: url(css\\2d escaped.png) }\n@font-face { font-family: card; src: local(\"card\"), " +
				"url(css-font.woff2) format(\"woff2\") }\n")}
	files["/card/css-import-url.css"] = &file{
		mime: "text/css",
		body: []byte(".d { background: url(\"css-nested.png\") }\n"),
	}
	files["/card/embed.svg"] = &file{mime: "image/svg+xml", body: []byte(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 40 40"><style><![CDATA[.x { fill: url(#g); background: url(svg-style.png) }]]></style><a xlink:href="svg-anchor.html"><image href="svg-image.png" width="20" height="20"/></a><use href="svg-use.svg#s"/></svg>
`)}
	files["/card/frames.html"] = html(
		"<html><head><title>Frames</title></head><frameset cols=\"50%,50%\"><frame " +
			"src=\"frame-left.html\"><frame src=\"frame-right.html\"></frameset></html>\n")
	files["/card/refresh.html"] = html(
		"<!DOCTYPE html><title>Refresh</title><meta http-equiv=refresh " +
			"content=\"30;URL=meta-refresh.html\"><p>Wait, or <a href=\"/card/\">go back</a>.\n")
	card := html(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Test card · Kestrel Point Observatory</title>
<meta property="og:image" content="` + origin + `/card/meta-image.png">
<link rel=icon href=link-icon.png>
<link rel="preload" as="font" href="link-preload.woff2" crossorigin integrity="sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=">
<link rel="preload" as="image" href="img-src.png" imagesrcset="img-src.png 1x, link-imagesrcset.png 2x">
<link rel="stylesheet" href="/assets/style.css">
<link rel="stylesheet" href="link-stylesheet.css" integrity="">
<style>
#one { background: url(style-element.png) }
</style>
<script src="script.js"></script>
<script>var s = "<a href='not-a-link.html'>"; // <img src="not-a-link.png"></script>
<!-- <a href="not-a-link.html">not a link</a> -->
</head>
<body>
<main>
<h1>Test card</h1>
<p class="lead">Every way in which a page can refer to another. When all of this is there, the copy is complete.</p>
<p><a href="a.html">a</a> <a href=unquoted.html>unquoted</a> <A HREF='uppercase.html'>upper case</A> <a href="entity&amp;amp.html">entity</a> <a href="space in name.html">space</a> <a href="frames.html">frames</a> <a href="refresh.html">refresh</a>
<a href="#one">fragment</a> <a href="/cgi-bin/count?card">program</a> <a href="mailto:a@kestrel.example">mail</a> <a href="https://elsewhere.example/page?x=1&amp;y=2#z">elsewhere</a> <a href="ftp://ftp.example/pub/">ftp</a> <a href="//other.example/">other host</a> <a href="missing.html">missing</a></p>
<p id="one" style="background: url(&quot;css-attribute.png&quot;)">Inline style.</p>
<p><img src="img-src.png" alt="" srcset="img-srcset-1.png 1x, img-srcset-2.png 2x"><picture><source srcset="picture-source.png"><img src="img-src.png" alt=""></picture></p>
<map name="m"><area href="area.html" alt="area"></map>
<video src="video-src.webm" poster="video-poster.png"><track src="track.vtt" kind="captions"></video>
<audio src="audio-src.wav"></audio> <audio><source src="source.wav"></audio>
<object data="object.svg" type="image/svg+xml" width="40" height="40"></object> <embed src="embed.svg" width="40" height="40">
<iframe src="iframe.html" title="frame"></iframe>
<iframe title="written" srcdoc="&lt;a href=&quot;srcdoc-a.html&quot;&gt;in a frame&lt;/a&gt;&lt;img src=srcdoc-img.png alt=''&gt;"></iframe>
<form action="/cgi-bin/form" method="post"><input type="image" src="input-image.png" alt="go"><button formaction="/cgi-bin/other">other</button></form>
<table background="table-background.png"><tr><td>old table</td></tr></table>
<template><img src="template.png" alt=""></template>
<noscript><img src="noscript.png" alt=""></noscript>
<textarea><a href="not-a-link.html"></textarea>
</main>
</body>
</html>
`)
	card.link = "<link-header.css>; rel=preload; as=style"
	files["/card/"] = card
	return files
}

// cardTarget makes the smallest file of the right type.
func cardTarget(name string) *file {
	switch ext := path.Ext(name); ext {
	case ".html":
		return html("<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>" + strings.ReplaceAll(name, "&", "&amp;") +
			"</title><p>Found. <a href=\"/card/\">Test card</a></p>\n")
	case ".css":
		return &file{mime: "text/css", body: []byte("/* " + name + " */\n")}
	case ".js":
		return &file{mime: "text/javascript", body: []byte("// " + name + "\n")}
	case ".svg":
		return &file{
			mime: "image/svg+xml",
			body: []byte(
				"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\"><g id=\"s\"><circle cx=\"4\" cy=\"4\" " +
					"r=\"3\"/></g></svg>\n"),
		}
	case ".vtt":
		return &file{mime: "text/vtt", body: []byte("WEBVTT\n\n00:00.000 --> 00:01.000\nA star.\n")}
	case ".png":
		p := picture{
			seed:  uint32(len(name)) * 77,
			stars: 6,
			glows: []glow{{500, 500, 400, 400, 120, 120, uint8(len(name) * 8)}},
		}
		return &file{mime: "image/png", body: p.draw(24, 24)}
	case ".wav":
		// 8 samples of silence: RIFF, fmt and data chunks.
		return &file{
			mime: "audio/wav",
			body: []byte(
				"RIFF\x2c\x00\x00\x00WAVEfmt " +
					"\x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00" +
					"data\x08\x00\x00\x00\x80\x80\x80\x80\x80\x80\x80\x80"),
		}
	case ".webm":
		return &file{mime: "video/webm", body: []byte("\x1aE\xdf\xa3\x80")}
	case ".woff2":
		return &file{mime: "font/woff2", body: []byte("wOF2 " + name)}
	}
	panic("demosite: no type for " + name)
}
