// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"mirrord/archive"
	"mirrord/phm"
)

// Output is a file that is written from its beginning to its end, and read back before it takes the place of
// an older one. It is for one goroutine.
type Output struct {
	InterruptibleFile
	sum  xxh3.Hasher // of what was written
	size int64
}

// NewOutput begins a file, which is written and read until ctx ends.
func NewOutput(ctx context.Context, f *os.File) *Output {
	return &Output{InterruptibleFile: InterruptibleFile{f, ctx}}
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.InterruptibleFile.Write(p)
	_, _ = o.sum.Write(p[:n]) // it returns no errors
	o.size += int64(n)
	return n, err
}

// ReadBack compares what the disk has with what was written. It is read from the disk, not from what the
// system still has of it in memory, where the system can do that. A form that is written at places has a sum
// of its own.
func (o *Output) ReadBack(form archive.Form) error {
	if err := o.Sync(); err != nil {
		return err
	}
	DropCached(o.File)
	var err error
	if form.Placed {
		err = checkSum(o.InterruptibleFile, form)
	} else {
		err = o.compare()
	}
	if over := o.Ctx.Err(); over != nil {
		return over
	}
	if err != nil {
		return fmt.Errorf("what was written does not read back: %w", err)
	}
	return nil
}

func (o *Output) compare() error {
	var sum xxh3.Hasher
	n, err := io.Copy(&sum, io.NewSectionReader(o, 0, o.size+1))
	if err == nil && (n != o.size || sum.Sum128() != o.sum.Sum128()) {
		err = fmt.Errorf("%w: the disk has %d bytes, %d were written, or others", phm.ErrDamaged, n, o.size)
	}
	return err
}

func checkSum(f InterruptibleFile, form archive.Form) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	tree, err := form.Open(f, fi.Size(), phm.Limits{})
	if err != nil {
		return err
	}
	var report phm.Report
	archive.CheckSum(tree, &report)
	return report.Err()
}
