// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Any directory that a server can list is read back, for any bytes in its names.
func TestRandomDirectories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type file struct {
			name string
			dir  bool
			size int64
			at   time.Time
		}
		segment := rapid.Custom(func(t *rapid.T) string {
			b := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(1, 255), rapid.SampledFrom([]byte(`ab.-_ %<>&"'#?;`))), 1,
				70).Draw(t, "bytes")
			s := strings.ReplaceAll(string(b), "/", "_")
			if strings.Trim(s, ".") == "" {
				s += "x"
			}
			return s
		})
		names := rapid.SliceOfDistinct(
			rapid.OneOf(segment,
				rapid.SampledFrom([]string{"Up", "Parent Directory", "...", "a..>", "Name", "Size", "index.html", "x@",
					" x", "x ", "é", "?C=N;O=D", "%2F", "%41"})), rapid.ID[string]).Draw(t, "names")
		path := "/d" + segment.Draw(t, "path") + "/"
		var files []file
		for _, name := range names {
			files = append(files, file{name, rapid.Bool().Draw(t, "dir"), rapid.Int64Range(0, 1<<40).Draw(t, "size"),
				time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), 0).UTC().Truncate(time.Minute)})
		}

		var nginx, table, ul strings.Builder
		title := html.EscapeString(path)
		fmt.Fprintf(&nginx,
			"<html>\r\n<head><title>Index of %s</title></head>\r\n<body>\r\n<h1>Index of %[1]s</h1><hr><pre><a "+
				"href=\"../\">../</a>\r\n", title)
		table.WriteString(strings.ReplaceAll(apacheHead, "/pub", strings.TrimSuffix(title, "/")) + apacheParent)
		fmt.Fprintf(&ul,
			"<title>Directory listing for %s</title>\n<body>\n<h1>Directory listing for %[1]s</h1>\n<hr>\n<ul>\n",
			title)
		for _, f := range files {
			text, size, slash := f.name, fmt.Sprint(f.size), ""
			if f.dir {
				size, slash = "-", "/"
			}
			if len(text) > 50 {
				text = text[:47] + "..>" // in the middle of a character, as Apache may
			} else {
				text += slash
			}
			text = html.EscapeString(text)
			fmt.Fprintf(&nginx, "<a href=\"%s\">%s</a>   %s %19s\r\n", escape(f.name, f.dir), text,
				f.at.Format("02-Jan-2006 15:04"), size)
			fmt.Fprintf(&table,
				"<tr><td><img></td><td><a href=\"%s\">%s</a></td><td>%s  </td><td> %s </td><td>12K</td></tr>\n",
				escape(f.name, f.dir), text, f.at.Format("2006-01-02 15:04"), size)
			fmt.Fprintf(&ul, "<li><a href=\"%s\">%s%s</a></li>\n", escape(f.name, f.dir),
				html.EscapeString(f.name), slash)
		}
		nginx.WriteString(nginxTail)
		table.WriteString(apacheTail)
		ul.WriteString("</ul>")

		u, _, err := mustURL(t, "http://h.example/").Resolve("/" + escape(strings.Trim(path, "/"), true)[2:])
		if err != nil {
			t.Fatal(err)
		}
		for server, page := range map[string]string{
			Nginx:  nginx.String(),
			Apache: table.String(),
			Python: ul.String(),
		} {
			l, ok := Parse([]byte(page), u)
			if !ok || l.Server != server || len(l.Entries) != len(files) {
				t.Fatalf("%s: %v, %v\n%s", server, l, ok, page)
			}
			for _, f := range files {
				e, ok := l.Find(f.name)
				if !ok || e.Dir != f.dir ||
					(server != Python && (!e.Modified.Equal(f.at) || (!f.dir && e.Size != f.size))) {
					t.Fatalf("%s: got %v, %v, want %v", server, e, ok, f)
				}
			}
			if !slices.IsSortedFunc(l.Entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
				t.Fatal("not sorted")
			}
		}
	})
}
