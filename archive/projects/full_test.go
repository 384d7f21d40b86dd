// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"strings"
	"testing"

	"mirrord/archive/warc"
)

// fullDisk takes so many bytes.
type fullDisk int

var errFull = errors.New("no space left on device")

func (f *fullDisk) Write(b []byte) (int, error) {
	if *f -= fullDisk(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// What cannot be written is no damage of the file that is read.
func TestFullDisk(t *testing.T) {
	text := strings.Join(arcRecords(false), "")
	for room := range fullDisk(1500) {
		_, err := ARC(strings.NewReader(text), true, warc.NewWriter(&room))
		if room < 0 && !errors.Is(err, errFull) {
			t.Fatalf("%d bytes over: %v", -room, err)
		}
	}
}
