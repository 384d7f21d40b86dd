// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// NumberOf is the number to which nameOf gives a name, 0 for other names.
func NumberOf(name string, nameOf func(n uint32) string) uint32 {
	digits := strings.TrimFunc(name, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || nameOf(uint32(n)) != name {
		return 0
	}
	return uint32(n)
}

// NumbersIn lists the numbers of the files of a folder to which nameOf gives names, ascending.
func NumbersIn(root *os.Root, dir string, nameOf func(n uint32) string) (nums []uint32, err error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if n := NumberOf(e.Name(), nameOf); n > 0 {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	return nums, Err("list files", err)
}
