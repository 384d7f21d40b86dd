// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"strings"
	"testing"
)

// One key of a text changes, and nothing around it.
func TestSetText(t *testing.T) {
	const top = "# of the site\nurl = \"https://a.example/\" # first\n"
	for _, c := range []struct{ name, text, key, value, want string }{
		{"replaced", top + "title = 'x' # y\n", "title", `"z"`, top + "title = \"z\" # y\n"},
		{"added", top, "title", `"z"`, top + "title = \"z\"\n"},
		{"added above tables", top + "\n[limits]\nmax_depth = 3\n", "title", `"z"`,
			top + "title = \"z\"\n\n[limits]\nmax_depth = 3\n"},
		{"added without an end of the last line", `url = "x"`, "title", `"z"`, "url = \"x\"\ntitle = \"z\""},
		{"into a table", top + "[limits] # l\n# c\nmax_depth = 3\n\n[polite]\n", "limits.max_files", "9",
			top + "[limits] # l\n# c\nmax_depth = 3\nmax_files = 9\n\n[polite]\n"},
		{"into an empty table", top + "[limits] # l\n\n[polite]\n", "limits.max_files", "9",
			top + "[limits] # l\nmax_files = 9\n\n[polite]\n"},
		{"a new table", top + "[polite]\ndelay = \"1s\"", "limits.max_files", "9",
			top + "[polite]\ndelay = \"1s\"\n\n[limits]\nmax_files = 9\n"},
		{"dotted", top + "limits.max_depth = 3\n", "limits.max_files", "9",
			top + "limits.max_depth = 3\nlimits.max_files = 9\n"},
		{"dotted, replaced", top + "limits . max_files = 3\n", "limits.max_files", "9",
			top + "limits . max_files = 9\n"},
		{"inline", top + "limits = { max_depth = 3 }\n", "limits.max_files", "9",
			top + "limits = { max_depth = 3, max_files = 9 }\n"},
		{"inline, empty", top + "limits = {}\n", "limits.max_files", "9", top + "limits = { max_files = 9 }\n"},
		{"inline, first removed", top + "limits = { max_depth = 3, max_files = 9 }\n", "limits.max_depth", "",
			top + "limits = { max_files = 9 }\n"},
		{"inline, last removed", top + "limits = { max_depth = 3, max_files = 9 }\n", "limits.max_files", "",
			top + "limits = { max_depth = 3 }\n"},
		{"removed", top + "title = \"\"\"\na\nb\"\"\"\npolicy = \"full\"\n", "title", "",
			top + "policy = \"full\"\n"},
		{"removed, but for its comment", top + "title = 'x' # y\n", "title", "", top + "# y\n"},
		{"removed and not there", top, "limits.max_files", "", top},
		{"CRLF", "url = 'x'\r\n[limits]\r\nmax_depth = 1\r\n", "limits.max_files", "9",
			"url = 'x'\r\n[limits]\r\nmax_depth = 1\r\nmax_files = 9\r\n"},
		{"byte order mark", "\ufeffurl = 'x'\n", "url", "'y'", "\ufeffurl = 'y'\n"},
		{"lists of tables", top + "[[priority]]\nmatch = ['x']\n", "limits.max_files", "9",
			top + "[[priority]]\nmatch = ['x']\n\n[limits]\nmax_files = 9\n"},
		{"unknown keys", "ur = 'x'\n[limit]\nx = [ # a\n1 ]\n", "url", "'y'",
			"ur = 'x'\nurl = 'y'\n[limit]\nx = [ # a\n1 ]\n"},
		{"scope in short", top + "scope = \"host\" # s\n", "scope.kind", `"domain"`, top + "scope = \"domain\" # s\n"},
		{"scope grows", top + "scope = \"host\" # s\n", "scope.exclude", `["/x"]`,
			top + "scope = { kind = \"host\", exclude = [\"/x\"] } # s\n"},
		{"scope of prefixes grows", top + "scope = ['https://a.example/b/']\n", "scope.exclude", `["/x"]`,
			top + "scope = { prefixes = ['https://a.example/b/'], exclude = [\"/x\"] }\n"},
		{"scope goes", top + "scope = \"host\"\n", "scope.kind", "", top},
		{"nothing there", "", "url", "'y'", "url = 'y'\n"},
	} {
		got, err := SetText([]byte(c.text), c.key, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
	for name, text := range map[string]string{
		"a comment would go": top + "limits = { max_depth = 3, # why\n max_files = 9 }\n",
		"no TOML":            top + "limits = \n",
		"no table":           top + "limits = 3\n",
		"a list of tables":   top + "[[limits]]\nmax_files = 3\n",
	} {
		if got, err := SetText([]byte(text), "limits.max_depth", ""); err == nil && string(got) != text {
			t.Errorf("%s: became\n%s", name, got)
		}
		if got, err := SetText([]byte(text), "limits.max_body", "3"); err == nil && name != "a comment would go" {
			t.Errorf("%s: became\n%s", name, got)
		}
	}
}

// All that a form can set comes out of the file as it was typed, in each way to write tables.
func TestSetTextOfKeysInBulk(t *testing.T) {
	styles := []string{
		"", "[limits]\n[polite]\n[scope]\n[publish]\n[notify]\n",
		"limits = {}\nscope = 'host'\n",
		"limits.retries = 1\nscope = { kind = 'host' }\n# end",
	}
	for _, style := range styles {
		text := []byte("url = 'https://a.example/' # u\n" + style)
		def := Default("https://a.example/")
		for _, k := range Keys() {
			value := k.Example
			if value == "" || strings.HasPrefix(value, "{") || k.Name == "priority" ||
				k.Name == "polite.allow_private" {
				continue
			}
			out, err := SetText(text, k.Name, value)
			if err != nil {
				t.Fatalf("%s = %s in %q: %v", k.Name, value, text, err)
			}
			shown, err := Shown(out)
			if err != nil {
				t.Fatal(err)
			}
			typed := k.Typed(shown[k.Name])
			if err := def.Set(k.Name, typed); err != nil {
				t.Errorf("%s: %s was typed from %s: %v", k.Name, typed, value, err)
			}
			again, err := SetText(out, k.Name, typed)
			if back, berr := Shown(again); err != nil || berr != nil || back[k.Name] != shown[k.Name] {
				t.Errorf("%s: %v, %v: %q became %q", k.Name, err, berr, shown[k.Name], back[k.Name])
			}
			gone, err := SetText(out, k.Name, "")
			if back, _ := Shown(gone); err != nil || (back[k.Name] != "" && k.Name != "scope.kind") {
				t.Errorf("%s: %v: it stays as %q", k.Name, err, back[k.Name])
			}
			if k.Name != "url" {
				text = out
			}
		}
		if n := bytes.Count(text, []byte("# ")); n != bytes.Count([]byte(style), []byte("# "))+1 {
			t.Errorf("%d comments are left:\n%s", n, text)
		}
	}
}
