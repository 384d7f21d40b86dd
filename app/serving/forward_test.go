// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// lockedNames is a memory on a disk that takes nothing.
type lockedNames struct{ err error }

func (lockedNames) WasPublic(string) (bool, error) { return true, nil }

func (n lockedNames) KeepPublic(string) error { return n.err }

// serve may lack the right to write the state; what else goes wrong is said.
func TestReaderNames(t *testing.T) {
	broken := errors.New("broken")
	for err, want := range map[error]error{fs.ErrPermission: nil, syscall.EROFS: nil, broken: broken} {
		n := readerNames{lockedNames{&fs.PathError{Op: "open", Path: "public-names", Err: err}}}
		if got := n.KeepPublic("a.test"); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
		if was, err := n.WasPublic("a.test"); err != nil || !was {
			t.Errorf("%v, %v", was, err)
		}
	}
}
