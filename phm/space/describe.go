// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"slices"
	"syscall"

	"mirrord/relocate"
)

// isFull reports whether an error says that the disk is full or broken: then all work ends.
func isFull(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS},
		func(full error) bool { return errors.Is(err, full) })
}

// indexPage is the page by which a space is opened.
const indexPage = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Space {{.Name}}</title>
<h1>Space {{.Name}}</h1>
<ul>
{{range .Mirrors}}<li><a href="{{.Ref}}">{{or .Title .Name}}</a> ({{.Name}})
{{end}}</ul>
`

// describe writes the page by which the space is opened.
func (u *update) describe() error {
	type row struct{ Name, Title, Ref string }
	var rows []row
	for _, m := range u.mirrors.sorted() {
		if m.Entry != "" {
			ref := relocate.Relative(nil, indexName, MirrorFolder(m.Name)+"/"+m.Entry)
			rows = append(rows, row{m.Name, m.Title, string(ref)})
		}
	}
	t, err := template.New("").Parse(indexPage)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		Name    string
		Mirrors []row
	}{u.name, rows}); err != nil {
		return err
	}
	name := u.at(filesFolder, indexName)
	if old, err := u.root.ReadFile(name, mostRead); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	return u.write(name, b.Bytes())
}

// Count is a number of links, to a mirror or a host.
type Count struct {
	Name  string `json:"name"`
	Links int    `json:"links"`
}

func mostFirst(a, b Count) int {
	return cmp.Or(cmp.Compare(b.Links, a.Links), cmp.Compare(a.Name, b.Name))
}
