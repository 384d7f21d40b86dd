// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// errByHand says that a text has a form in which one key cannot be changed alone.
var errByHand = errors.New("the way in which the file writes this key cannot be changed by a form; " +
	"change it in the text")

// SetText changes one key in the text of a job file, and nothing else: comments, unknown keys and the order
// of the lines stay. The value is TOML; "" removes the key. The text must be TOML; whether the value makes
// sense is for Parse.
func SetText(text []byte, key, value string) ([]byte, error) {
	before, err := tableOf(text)
	if err != nil {
		return nil, err
	}
	out := outlineOf(text).set(key, value)
	after, err := tableOf(out)
	if err != nil || !slices.Equal(commentsOf(text), commentsOf(out)) {
		return nil, errByHand
	}
	want, err := tableOf([]byte("v = " + value))
	if value != "" && (err != nil || len(want) != 1) {
		return nil, fmt.Errorf("%s: %q is no TOML value", key, value)
	}
	put(before, key, want["v"])
	if put(after, key, want["v"]); !reflect.DeepEqual(before, after) {
		return nil, errByHand
	}
	return out, nil
}

func tableOf(text []byte) (map[string]any, error) {
	if _, crowd := crowded(bytes.TrimPrefix(text, []byte("\ufeff"))); crowd {
		return nil, fmt.Errorf("the text has more than %d keys and tables; change it in an editor", maxKeys)
	}
	doc := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &doc)
	scopeAsTable(doc)
	return doc, err
}

// scopeAsTable gives the scope of a document the one form of its three that holds everything.
func scopeAsTable(doc map[string]any) {
	switch v := doc["scope"].(type) {
	case string:
		doc["scope"] = map[string]any{"kind": v}
	case []any:
		doc["scope"] = map[string]any{"prefixes": v}
	}
}

// put sets a key in a document; nil removes it, and its table when that is empty then.
func put(doc map[string]any, key string, v any) {
	table, leaf := cutLast(key)
	in := doc
	if table != "" {
		sub, _ := doc[table].(map[string]any)
		if sub == nil {
			sub = map[string]any{}
		}
		doc[table], in = sub, sub
	}
	if in[leaf] = v; v == nil {
		delete(in, leaf)
	}
	if table != "" && len(in) == 0 {
		delete(doc, table)
	}
}

// outline is where the keys and tables of a text stand.
type outline struct {
	text    []byte
	parts   []part
	entries []entry
	heads   []head
}

// part is a part of a dotted name, with all before it.
type part struct {
	path string
	at   int
}

// entry is KEY = VALUE.
type entry struct {
	path              string
	table             string // the [table] above it
	in                int    // the entry whose inline table has it; -1 for a line of its own
	start, value, end int    // of the key, of the value, and behind it
}

// head is a [table].
type head struct {
	path string
	end  int // behind its name
}

// outlineOf walks the syntax tree of a text that go-toml has already accepted.
func outlineOf(text []byte) *outline {
	o := &outline{text: text}
	skip := len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))
	var p unstable.Parser
	p.Reset(text[skip:])
	name := func(path string, depth int, it unstable.Iterator) (_ string, _, end int) {
		for it.Next() {
			n := it.Node()
			at := skip + int(n.Raw.Offset)
			end = at + int(n.Raw.Length)
			if depth++; depth > maxDepth || len(path)+len(n.Data) > maxPath {
				path, depth = ".", maxDepth // no name of ours
				continue
			}
			path = join(path, string(n.Data))
			o.parts = append(o.parts, part{path, at})
		}
		return path, depth, end
	}
	table, depth, lists := "", 0, map[string]int{}
	var add func(prefix string, depth, in int, n *unstable.Node)
	add = func(prefix string, depth, in int, n *unstable.Node) {
		path, depth, key := name(prefix, depth, n.Key())
		e := entry{
			path:  path,
			table: table,
			in:    in,
			start: skip + int(n.Raw.Offset),
			end:   skip + int(n.Raw.Offset+n.Raw.Length),
		}
		after := bytes.TrimLeft(text[key:], " \t")[1:] // =
		e.value = len(text) - len(bytes.TrimLeft(after, " \t"))
		at := len(o.entries)
		o.entries = append(o.entries, e)
		if v := n.Value(); v.Kind == unstable.InlineTable && depth < maxDepth {
			for it := v.Children(); it.Next(); {
				if it.Node().Kind == unstable.KeyValue {
					add(path, depth, at, it.Node())
				}
			}
		}
	}
	for p.NextExpression() {
		switch n := p.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			end := 0
			if table, depth, end = name("", 0, n.Key()); n.Kind == unstable.ArrayTable {
				lists[table]++
				table = fmt.Sprintf("%s[%d]", table, lists[table]-1)
				o.parts = append(o.parts, part{table, skip + int(firstKey(n).Raw.Offset)})
			}
			o.heads = append(o.heads, head{path: table, end: end})
		case unstable.KeyValue:
			add(table, depth, -1, n)
		}
	}
	return o
}

// commentsOf are the comments of a text.
func commentsOf(text []byte) (out []string) {
	var p unstable.Parser
	p.KeepComments = true
	p.Reset(bytes.TrimPrefix(text, []byte("\ufeff")))
	var walk func(n *unstable.Node)
	walk = func(n *unstable.Node) {
		for ; n != nil && n.Valid(); n = n.Next() {
			if n.Kind == unstable.Comment {
				out = append(out, string(n.Data))
			}
			walk(n.Child())
		}
	}
	for p.NextExpression() {
		walk(p.Expression())
	}
	slices.Sort(out) // a value is visited before the comment behind it or after, as it has one of its own
	return out
}

// find returns the entry of a key; -1 without one.
func (o *outline) find(path string) int {
	return slices.IndexFunc(o.entries, func(e entry) bool { return e.path == path })
}

// set returns the text with another value of a key.
func (o *outline) set(key, value string) []byte {
	table, leaf := cutLast(key)
	at, of := o.find(key), o.find(table)
	short := -1 // scope = "host", or a list of prefixes
	if v := o.find("scope"); v >= 0 && table == "scope" && o.text[o.entries[v].value] != '{' {
		short = v
	}
	switch {
	case short >= 0 && leaf == "kind" && value == "":
		return o.cut(short)
	case short >= 0 && leaf == "kind":
		return o.splice(o.entries[short].value, o.entries[short].end, value)
	case short >= 0 && value != "":
		e := o.entries[short]
		form := "kind"
		if o.text[e.value] == '[' {
			form = "prefixes"
		}
		was := string(o.text[e.value:e.end])
		return o.splice(e.value, e.end, "{ "+form+" = "+was+", "+leaf+" = "+value+" }")
	case at < 0 && value == "":
		return o.text
	case at >= 0 && value == "":
		return o.cut(at)
	case at >= 0:
		return o.splice(o.entries[at].value, o.entries[at].end, value)
	case table != "" && of >= 0:
		return o.intoInline(of, leaf+" = "+value)
	}
	return o.addLine(table, leaf, value)
}

func (o *outline) splice(from, to int, with string) []byte {
	return slices.Concat(o.text[:from], []byte(with), o.text[to:])
}

// intoInline adds to an inline table.
func (o *outline) intoInline(of int, what string) []byte {
	last := -1
	for i, e := range o.entries {
		if e.in == of {
			last = i
		}
	}
	if last < 0 {
		at := o.entries[of].value + 1
		return o.splice(at, at, " "+what+" ")
	}
	return o.splice(o.entries[last].end, o.entries[last].end, ", "+what)
}

// addLine adds a key in a line of its own, behind the last one of its table.
func (o *outline) addLine(table, leaf, value string) []byte {
	end, name := -1, leaf
	for _, h := range o.heads {
		if h.path == table {
			end = h.end
		}
	}
	headed := end >= 0
	for _, e := range o.entries {
		switch dotted := !headed && table != "" && strings.HasPrefix(e.path, table+"."); {
		case e.in >= 0:
		case dotted && e.table == "":
			end, name = e.end, table+"."+leaf
		case e.table == table && (headed || table == ""):
			end = e.end
		}
	}
	line := name + " = " + value
	switch {
	case end >= 0:
		end = o.lineEnd(end)
		return o.splice(end, end, o.newline()+line)
	case table == "":
		at := len(o.text) - len(bytes.TrimPrefix(o.text, []byte("\ufeff")))
		return o.splice(at, at, line+o.newline())
	}
	nl := o.newline()
	between := nl
	if n := len(o.text); n > 0 && o.text[n-1] != '\n' {
		between += nl
	}
	return o.splice(len(o.text), len(o.text), between+"["+table+"]"+nl+line+nl)
}

// lineEnd is where the line of an offset ends, before what ends it.
func (o *outline) lineEnd(from int) int {
	i := bytes.IndexByte(o.text[from:], '\n')
	if i < 0 {
		return len(o.text)
	}
	if end := from + i; o.text[end-1] == '\r' {
		return end - 1
	}
	return from + i
}

func (o *outline) newline() string {
	if bytes.Contains(o.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// cut removes an entry. A comment behind it stays, in a line of its own.
func (o *outline) cut(at int) []byte {
	e := o.entries[at]
	if e.in >= 0 {
		return o.cutInline(at)
	}
	start := bytes.LastIndexByte(o.text[:e.start], '\n') + 1
	end := o.lineEnd(e.end)
	if rest := bytes.TrimSpace(o.text[e.end:end]); len(rest) > 0 {
		return o.splice(start, end, string(rest))
	}
	if i := bytes.IndexByte(o.text[end:], '\n'); i >= 0 {
		end += i + 1
	}
	return o.splice(start, end, "")
}

func (o *outline) cutInline(at int) []byte {
	e := o.entries[at]
	before, after := -1, -1
	for i, x := range o.entries {
		switch {
		case x.in != e.in || i == at:
		case i < at:
			before = i
		case after < 0:
			after = i
		}
	}
	switch {
	case after >= 0:
		return o.splice(e.start, o.entries[after].start, "")
	case before >= 0:
		return o.splice(o.entries[before].end, e.end, "")
	}
	return o.splice(e.start, e.end, "")
}
