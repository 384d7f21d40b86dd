// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"fmt"
	"strings"
	"testing"
)

// hexed writes a text as strace -xx does.
func hexed(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return `"` + b.String() + `"`
}

// A folder that one thread makes and another one opens before strace has said that it is made is there.
func TestReadFolderOfTwoThreads(t *testing.T) {
	log := strings.ReplaceAll(`1 openat(AT_FDCWD, BASE, O_RDONLY|O_DIRECTORY) = 3
1 mkdirat(3, FOLDER, 0755 <unfinished ...>
2 mkdirat(3, FOLDER, 0755) = -1 EEXIST (File exists)
2 openat(3, FOLDER, O_RDONLY|O_DIRECTORY) = 4
2 close(3 <unfinished ...>
1 <... mkdirat resumed>) = 0
2 <... close resumed>) = 0
2 openat(4, FILE, O_WRONLY|O_CREAT|O_EXCL, 0644 <unfinished ...>
1 exit_group(0) = ?
2 <... openat resumed>) = 5
2 write(5, FILE, 4) = 4
`, "BASE", hexed("/base"))
	log = strings.ReplaceAll(strings.ReplaceAll(log, "FOLDER", hexed("d5")), "FILE", hexed("file"))
	calls, err := Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	d := New("/base")
	for i := range calls {
		names = append(names, calls[i].Name)
		if err := d.Do(&calls[i]); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, " "); got != "openat mkdirat openat close openat write" {
		t.Errorf("calls %s", got)
	}
	if n := d.lookup(d.root, "d5/file"); n == nil || n.size != 4 {
		t.Errorf("the file is %+v", n)
	}
}
