// SPDX-License-Identifier: Apache-2.0

// Package disktest replays what a process wrote to a disk that loses power: what was not synced may be lost,
// come in another order, or be torn.
package disktest

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Calls are the system calls that Read understands, as strace -e trace= takes them. It must be called with -f
// -qq -xx and a -s that cuts nothing.
const Calls = "openat,close,fcntl,write,pwrite64,writev,pwritev,lseek,ftruncate,fallocate,copy_file_range," +
	"mkdirat,unlinkat,linkat,symlinkat,renameat,renameat2,utimensat,fsync,fdatasync,sync_file_range,syncfs," +
	"mkdir,unlink,rmdir,link,symlink,rename,truncate,sendfile,splice,dup,dup2,dup3"

// Call is a system call that succeeded.
type Call struct {
	Name string
	args []string
	ret  int
}

// Is reports whether it is one of these.
func (c *Call) Is(names ...string) bool {
	for _, n := range names {
		if c.Name == n {
			return true
		}
	}
	return false
}

var callLine = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\d+)`)

// Read reads the output of strace. Calls that failed, and other lines, are left out. A call of one thread
// that another one interrupts counts when it ends, but close when it begins, since its number is free then,
// and so does mkdirat, since another thread may open the folder before strace says that it was made.
func Read(r io.Reader) (calls []Call, err error) {
	lines := bufio.NewReaderSize(r, 1<<20)
	type part struct {
		head string
		at   int // calls before it
	}
	begun := map[string]part{} // by thread
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		pid, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text = strings.TrimSpace(text)
		head, unfinished := strings.CutSuffix(text, "<unfinished ...>")
		_, rest, resumed := strings.Cut(text, " resumed>")
		switch {
		case unfinished && strings.HasPrefix(head, "close("):
			text = strings.TrimSpace(head) + ") = 0"
		case unfinished:
			begun[pid] = part{head, len(calls)}
			continue
		case resumed && strings.HasPrefix(text, "<... close"):
			continue
		case resumed && strings.HasPrefix(text, "<... "):
			text = begun[pid].head + rest
		}
		m := callLine.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		ret, err := strconv.Atoi(m[3])
		if err != nil {
			return nil, fmt.Errorf("%.80s: %w", text, err)
		}
		if ret < 0 {
			continue
		}
		at := len(calls)
		if resumed && m[1] == "mkdirat" {
			at = begun[pid].at
		}
		calls = slices.Insert(calls, at, Call{Name: m[1], args: split(m[2]), ret: ret})
	}
}

// split splits arguments at the commas that lie in no brackets. Strings are of escaped bytes only.
func split(s string) (args []string) {
	depth, begin := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(s[begin:i]))
				begin = i + 1
			}
		}
	}
	return append(args, strings.TrimSpace(s[begin:]))
}

// number returns an argument that is a number, such as an offset or the number of an open file; -1 for
// another.
func (c *Call) number(i int) int {
	if i >= len(c.args) {
		return -1
	}
	n, err := strconv.Atoi(c.args[i])
	if err != nil {
		return -1
	}
	return n
}

// bytes returns an argument that is a string.
func (c *Call) bytes(i int) []byte { return unescape(c.args[i]) }

func (c *Call) string(i int) string { return string(c.bytes(i)) }

// vector returns the strings of an argument that is a list of buffers.
func (c *Call) vector(i int) (all []byte) {
	for _, part := range strings.Split(c.args[i], "iov_base=")[1:] {
		all = append(all, unescape(part[:strings.LastIndexByte(part, '"')+1])...)
	}
	return all
}

// unescape returns the bytes of "\x41\x42".
func unescape(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(s, `"`), `\x`, ""))
	if err != nil {
		return nil
	}
	return b
}
