// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// saysNothing reports whether a page has no text of its own and runs scripts, such as one with an empty
// <div id="root">: what a browser shows of it, its scripts make. Text in noscript and the title do not count,
// nor does "Loading…". A page that shows a picture, a form or a link, or has a refresh, does not count.
func saysNothing(page []byte) bool {
	z := html.NewTokenizer(bytes.NewReader(page))
	scripts, hidden := false, ""
	for {
		switch z.Next() {
		case html.ErrorToken: // the end
			return scripts
		case html.TextToken:
			if hidden == "" && isText(z.Text()) {
				return false
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); hidden == string(name) {
				hidden = ""
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch {
			case hidden != "":
			case isHidden(name):
				hidden = string(name)
				scripts = scripts || (hidden == "script" && !strings.Contains(valueOf(z, more, "type"), "json"))
			case isShown(name), string(name) == "meta" && valueOf(z, more, "http-equiv") == "refresh":
				return false
			}
		}
	}
}

// isText reports whether a text is more than white space and a word that asks to wait.
func isText(b []byte) bool {
	b = bytes.Trim(b, " \t\r\n\f\u00a0\u200b\ufeff.…")
	return (len(b) > 0) && !bytes.EqualFold(b, []byte("&nbsp;")) && !bytes.EqualFold(b, []byte("loading"))
}

// isHidden reports whether browsers that run scripts hide the content of an element.
func isHidden(name []byte) bool {
	switch atom.Lookup(name) {
	case atom.Script, atom.Style, atom.Title, atom.Noscript, atom.Template:
		return true
	}
	return false
}

// isShown reports whether an element shows something, or links, regardless of its content.
func isShown(name []byte) bool {
	switch atom.Lookup(name) {
	case atom.A, atom.Area, atom.Img, atom.Picture, atom.Svg, atom.Image, atom.Video, atom.Audio, atom.Iframe,
		atom.Frame, atom.Frameset, atom.Object, atom.Embed, atom.Applet, atom.Form, atom.Input, atom.Button,
		atom.Textarea, atom.Select, atom.Math, atom.Hr, atom.Progress, atom.Meter:
		return true
	}
	return false
}

// valueOf returns an attribute of the current tag in lower case, "" when it has none.
func valueOf(z *html.Tokenizer, more bool, name string) (value string) {
	for more {
		var key, v []byte
		if key, v, more = z.TagAttr(); string(key) == name {
			value = strings.ToLower(strings.TrimSpace(string(v)))
		}
	}
	return value
}
